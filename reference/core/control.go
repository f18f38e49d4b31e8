package core

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// bucketNext holds what the control API wants of the next jobs, by action and credential.
const bucketNext = "next_jobs"

// everybody stands for any credential.
const everybody = "*"

// next is one instruction for jobs still to be admitted.
type next struct {
	Count int    `json:"count"`
	Code  string `json:"code,omitempty"` // of a failure
}

// ErrUnknown is what a control method returns for a name that the system does not have.
var ErrUnknown = errors.New("unknown")

// credential checks that there is one of this name.
func (c *Core) credential(name string) error {
	if _, ok := c.authority.names[name]; !ok {
		names := slices.Sorted(maps.Keys(c.authority.names))
		return fmt.Errorf("credential %q: %w; there are %s", name, ErrUnknown, strings.Join(names, ", "))
	}
	return nil
}

// SetRetired refuses a credential from now on, or accepts it again. One that was revoked when it was
// issued stays so.
func (c *Core) SetRetired(ctx context.Context, credential string, retired bool) error {
	if err := c.credential(credential); err != nil {
		return err
	}
	return c.authority.set(ctx, bucketRetired, credential, retired)
}

// SetGrant revokes a grant of every principal that holds it, or restores it. Without a name it is
// every grant that anybody holds.
func (c *Core) SetGrant(ctx context.Context, grant string, held bool) error {
	all := c.authority.grants()
	if grant != "" && !slices.Contains(all, grant) {
		return fmt.Errorf("grant %q: %w; there are %s", grant, ErrUnknown, strings.Join(all, ", "))
	}
	for _, g := range all {
		if grant == "" || g == grant {
			if err := c.authority.set(ctx, bucketGrants, g, !held); err != nil {
				return err
			}
		}
	}
	return nil
}

// SetHidden hides one resource from the client of a credential, or shows it again. Without a kind it
// is whichever resource has the id.
func (c *Core) SetHidden(ctx context.Context, credential, kind, id string, hidden bool) error {
	if err := c.credential(credential); err != nil {
		return err
	}
	kinds := []string{kind}
	if kind == "" {
		kinds = slices.Sorted(maps.Keys(c.model.kinds))
	}
	found := ""
	err := c.store.View(ctx, func(r Reader) error {
		for _, k := range kinds {
			_, err := r.Resource(k, id)
			if err == nil {
				found = k
			} else if !errors.Is(err, ErrNotFound) {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case found == "":
		return fmt.Errorf("resource %q: %w", id, ErrUnknown)
	}
	client := c.authority.names[credential].Principal.Client
	return c.authority.set(ctx, bucketHidden, hiddenKey(client, found, id), hidden)
}

// SetUnavailable answers 503 for d on the contract clock to a credential, or to everybody ("").
// d <= 0 ends it. It does not outlive the process.
func (c *Core) SetUnavailable(credential string, d time.Duration) error {
	if credential != "" {
		if err := c.credential(credential); err != nil {
			return err
		}
	}
	c.authority.mu.Lock()
	defer c.authority.mu.Unlock()
	c.authority.unavailable[credential] = c.clock.Now().Add(d)
	return nil
}

// HoldNext keeps the next n jobs of a credential, or of anybody (""), in their first state.
func (c *Core) HoldNext(ctx context.Context, credential string, n int) error {
	return c.instruct(ctx, "hold", credential, next{Count: n})
}

// FailNext lets the next n jobs of a credential, or of anybody (""), fail with a code.
func (c *Core) FailNext(ctx context.Context, credential, code string, n int) error {
	if code == "" {
		code = errorCodeOwn
	}
	return c.instruct(ctx, "fail", credential, next{Count: n, Code: code})
}

func (c *Core) instruct(ctx context.Context, action, credential string, n next) error {
	switch {
	case n.Count < 1:
		return fmt.Errorf("the number of jobs must be at least 1, is %d", n.Count)
	case credential == "":
		credential = everybody
	default:
		if err := c.credential(credential); err != nil {
			return err
		}
	}
	b, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return c.store.Update(ctx, func(w Writer) error { return w.SetValue(bucketNext, action+":"+credential, b) })
}

// interfere applies the instructions of the control API to a task that is being admitted.
func (c *Core) interfere(w Writer, t *Task) error {
	for _, who := range []string{t.Credential, everybody} {
		if _, ok, err := takeNext(w, "hold:"+who); err != nil {
			return err
		} else if ok {
			t.Held = true
		}
		n, ok, err := takeNext(w, "fail:"+who)
		if err != nil {
			return err
		}
		if ok {
			t.Fail = n.Code
		}
	}
	return nil
}

// takeNext uses one up, if there is one.
func takeNext(w Writer, key string) (next, bool, error) {
	b, err := w.Value(bucketNext, key)
	if errors.Is(err, ErrNotFound) {
		return next{}, false, nil
	}
	var n next
	if err == nil {
		err = json.Unmarshal(b, &n)
	}
	if err != nil {
		return next{}, false, err
	}
	n.Count--
	var left []byte
	if n.Count > 0 {
		if left, err = json.Marshal(n); err != nil {
			return next{}, false, err
		}
	}
	return n, true, w.SetValue(bucketNext, key, left)
}

// Release lets a held job go on, or all ("") and forgets instructions to hold more.
func (c *Core) Release(ctx context.Context, job string) error {
	err := c.store.Update(ctx, func(w Writer) error {
		if job != "" {
			t, err := w.Task(job)
			if err != nil {
				return fmt.Errorf("job %q with work left: %w", job, ErrUnknown)
			}
			return c.unhold(w, t)
		}
		return c.releaseAll(w)
	})
	c.signal()
	return err
}

func (c *Core) releaseAll(w Writer) error {
	waiting, err := w.Values(bucketNext)
	if err != nil {
		return err
	}
	for key := range waiting {
		if strings.HasPrefix(key, "hold:") {
			if err := w.SetValue(bucketNext, key, nil); err != nil {
				return err
			}
		}
	}
	stuck, err := w.Stuck(1 << 16)
	if err != nil {
		return err
	}
	for _, t := range stuck {
		if err := c.unhold(w, t); err != nil {
			return err
		}
	}
	return nil
}

func (c *Core) unhold(w Writer, t Task) error {
	if !t.Held {
		return nil
	}
	t.Held, t.Due = false, c.clock.Now()
	return w.SetTask(t)
}

// AddItem creates a resource of a listed type as a stranger of the credential's workspace would: its
// body is completed from the schema. It returns the id.
func (c *Core) AddItem(ctx context.Context, credential, kind string, body map[string]any) (string, error) {
	if err := c.credential(credential); err != nil {
		return "", err
	}
	k := c.model.kinds[kind]
	if k == nil || k.list == nil {
		return "", fmt.Errorf("resource type %q: %w, or no collection lists it", kind, ErrUnknown)
	}
	members, _ := clone(body).(map[string]any)
	if members == nil {
		members = map[string]any{}
	}
	res := Resource{Kind: kind, ID: newID(kind)}
	path := map[string]string{}
	for _, name := range pathParams(k.list.Path) {
		path[name], _ = members[name].(string)
	}
	res.Parent = parentOf(k.list, path)
	set(members, k.id, res.ID)
	k.shape.fill(members)
	var err error
	if res.Body, err = encode(members); err != nil {
		return "", err
	}
	owner := c.authority.names[credential].Principal
	return res.ID, c.store.Update(ctx, func(w Writer) error {
		_, err := c.Create(w, owner, res)
		return err
	})
}

// grants are all that any credential holds, sorted.
func (a *authority) grants() []string {
	var all []string
	for _, c := range a.names {
		all = append(all, c.Principal.Grants...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// longestRetention is how long events are kept for whoever may read them longest.
func (a *authority) longestRetention() time.Duration {
	var longest time.Duration
	for _, c := range a.names {
		longest = max(longest, c.Principal.Limits.EventRetention)
	}
	return longest
}
