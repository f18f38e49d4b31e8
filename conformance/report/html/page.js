(() => {
  'use strict';
  const root = document.documentElement;

  // A page from a file may have no storage at all; the theme is then forgotten, nothing else.
  const memory = {
    get() { try { return localStorage.getItem('assay-theme'); } catch { return null; } },
    set(v) { try { localStorage.setItem('assay-theme', v); } catch { /* forgotten */ } },
  };
  const saved = memory.get();
  if (saved === 'dark' || saved === 'light') root.dataset.theme = saved;
  root.classList.add('js');

  function theme() {
    const button = document.getElementById('theme');
    const system = matchMedia('(prefers-color-scheme: dark)');
    const dark = () => (root.dataset.theme || (system.matches ? 'dark' : 'light')) === 'dark';
    const show = () => button.setAttribute('aria-pressed', String(dark()));
    button.addEventListener('click', () => {
      root.dataset.theme = dark() ? 'light' : 'dark';
      memory.set(root.dataset.theme);
      show();
    });
    system.addEventListener('change', show);
    button.hidden = false;
    show();
  }

  function say(text) { document.getElementById('said').textContent = text; }

  // navigator.clipboard is not everywhere on a page from a file; a selected text area is.
  async function copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      const area = document.createElement('textarea');
      area.value = text;
      area.className = 'away';
      area.setAttribute('aria-hidden', 'true');
      const before = document.activeElement;
      document.body.append(area);
      area.select();
      const done = document.execCommand('copy');
      area.remove();
      if (before) before.focus();
      return done;
    }
  }

  function copying() {
    for (const b of document.querySelectorAll('[data-copy]')) b.hidden = false;
    document.addEventListener('click', async (e) => {
      const button = e.target.closest('[data-copy]');
      if (!button) return;
      const done = await copy(button.parentElement.querySelector('pre').textContent);
      button.textContent = done ? 'Copied' : 'Select it by hand';
      say(button.textContent);
      setTimeout(() => { button.textContent = 'Copy'; }, 1600);
    });
  }

  // The hash is either a plain anchor or the filter with, perhaps, an anchor: v=fail&q=idem&at=g-3.
  function read() {
    const hash = location.hash.slice(1);
    if (!hash.includes('=')) {
      let at = hash;
      try { at = decodeURIComponent(hash); } catch { /* as it is */ }
      return { v: '', q: '', at };
    }
    const p = new URLSearchParams(hash);
    return { v: p.get('v') || '', q: p.get('q') || '', at: p.get('at') || '' };
  }

  function write(state) {
    const p = new URLSearchParams();
    for (const k of ['v', 'q', 'at']) if (state[k]) p.set(k, state[k]);
    const hash = state.v || state.q ? '#' + p : state.at ? '#' + state.at : location.pathname + location.search;
    try { history.replaceState(null, '', hash); } catch { /* the address keeps its old filter */ }
  }

  function filtering() {
    const bar = document.getElementById('filter');
    const input = document.getElementById('text');
    const shown = document.getElementById('shown');
    const buttons = [...bar.querySelectorAll('[data-filter]')];
    const known = (v) => buttons.some((b) => b.dataset.filter === v);
    const kinds = [
      { name: 'requirements', list: [...document.querySelectorAll('.rows tr[data-v]')] },
      { name: 'findings', list: [...document.querySelectorAll('.finding')] },
      { name: 'cases', list: [...document.querySelectorAll('.cases tr[data-v]')] },
    ];
    const cells = [...document.querySelectorAll('.cell')];
    const bands = [...document.querySelectorAll('.band')];
    const holders = [...document.querySelectorAll('[data-cause], [data-block], [data-check]')];
    const texts = new Map();
    const textOf = (e) => {
      if (!texts.has(e)) {
        const owner = e.closest('[data-check]');
        texts.set(e, e.dataset.t || ((owner ? owner.querySelector('code').textContent + '@' : '') + e.textContent).toLowerCase());
      }
      return texts.get(e);
    };
    let state = read();

    function apply() {
      const q = state.q.trim().toLowerCase();
      const parts = [];
      for (const kind of kinds) {
        let n = 0;
        for (const e of kind.list) {
          const fits = (!state.v || e.dataset.v === state.v) && (!q || textOf(e).includes(q));
          if (e.hidden === fits) e.hidden = !fits;
          if (fits) n++;
        }
        if (kind.list.length) parts.push(n === kind.list.length ? `${n} ${kind.name}` : `${n} of ${kind.list.length} ${kind.name}`);
      }
      for (const c of cells) {
        const row = document.getElementById(c.getAttribute('href').slice(1));
        c.parentElement.hidden = Boolean(row && row.hidden);
      }
      for (const b of bands) b.hidden = !b.querySelector('li:not([hidden])');
      for (const h of holders) h.hidden = !h.querySelector('[data-v]:not([hidden])');
      for (const b of buttons) b.setAttribute('aria-pressed', String(b.dataset.filter === state.v));
      shown.textContent = parts.join(', ');
    }

    // go shows a place of the page: what hides it gives way.
    function go(id) {
      const e = id && document.getElementById(id);
      if (!e) return;
      const owner = e.closest('[data-v]') || e.closest('[data-cause]');
      if (owner && owner.hidden) {
        state = { v: '', q: '', at: id };
        input.value = '';
        apply();
      }
      for (let d = e.closest('details'); d; d = d.parentElement.closest('details')) d.open = true;
      for (const old of document.querySelectorAll('.at')) old.classList.remove('at');
      e.classList.add('at');
      e.scrollIntoView();
      const focus = e.matches('details') ? e.querySelector('summary') : e;
      focus.focus({ preventScroll: true });
    }

    function load() {
      state = read();
      if (!known(state.v)) state.v = '';
      input.value = state.q;
      apply();
      go(state.at);
    }

    bar.addEventListener('click', (e) => {
      const button = e.target.closest('[data-filter]');
      if (!button) return;
      state.v = state.v === button.dataset.filter ? '' : button.dataset.filter;
      state.at = '';
      write(state);
      apply();
    });
    let waiting = 0;
    input.addEventListener('input', () => {
      state.q = input.value;
      state.at = '';
      cancelAnimationFrame(waiting);
      waiting = requestAnimationFrame(() => { write(state); apply(); });
    });
    document.addEventListener('click', (e) => {
      const link = e.target.closest('a[href^="#"], [data-to]');
      if (!link || e.ctrlKey || e.metaKey || e.shiftKey) return;
      const id = link.dataset.to || link.getAttribute('href').slice(1);
      e.preventDefault();
      state.at = id;
      go(id);
      write(state);
    });
    addEventListener('hashchange', load);
    bar.hidden = false;
    load();
  }

  // For a browser whose style sheet cannot open what is closed; it is closed again afterwards.
  function printing() {
    let opened = [];
    addEventListener('beforeprint', () => {
      opened = [...document.querySelectorAll('details:not([open])')];
      for (const d of opened) d.open = true;
    });
    addEventListener('afterprint', () => {
      for (const d of opened) d.open = false;
      opened = [];
    });
  }

  addEventListener('DOMContentLoaded', () => {
    theme();
    copying();
    filtering();
    printing();
  });
})();
