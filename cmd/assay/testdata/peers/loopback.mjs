// Loaded before a server that listens where it likes: it then listens on a free port of this machine only,
// and says which.
import net from 'node:net';

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (_port, done) {
  return listen.call(this, { port: 0, host: '127.0.0.1' }, () => {
    console.log(`listening ${this.address().port}`);
    done?.();
  });
};
