package core

import (
	"net/url"
	"slices"
	"strings"

	"assay.kit/spec"
	"assay.kit/spec/tree"
)

// Kinds that the core itself makes.
const (
	kindEvent    = "event"
	kindJob      = "job"      // unless the contract names it otherwise
	kindArtifact = "artifact" // likewise
)

// model is what a contract's traits say about resource types, computed once.
type model struct {
	contract *spec.Contract
	kinds    map[string]*kind
	read     map[string]string      // operation that reads one resource -> its kind
	cancels  map[string]*spec.Job   // operation that cancels -> the job trait
	jobs     map[string]*spec.Job   // kind of job -> its trait
	inputs   map[string][]toolInput // operation -> members whose schema is a tool's
	success  map[string]int         // operation -> status of its success, not the job's admission
}

// kind is one resource type.
type kind struct {
	name    string
	id      tree.Pointer // of the id in a representation
	state   tree.Pointer // of the state, "" if it has no machine
	machine *spec.States // nil if it has none
	shape   shape        // of a representation
	read    *spec.Operation
	list    *spec.Operation
	follows string // type of the resource whose access it follows, which its Parent names; "" none
}

// toolInput is a body member whose schema is the input schema of the tool that another one names.
type toolInput struct{ at, tool tree.Pointer }

func newModel(c *spec.Contract) *model {
	m := &model{
		contract: c, kinds: map[string]*kind{}, read: map[string]string{}, cancels: map[string]*spec.Job{},
		jobs: map[string]*spec.Job{}, inputs: map[string][]toolInput{}, success: map[string]int{},
	}
	for _, op := range c.Ops {
		m.success[op.ID] = successStatus(op)
		if ins := toolInputs(op); len(ins) > 0 {
			m.inputs[op.ID] = ins
		}
	}
	m.findReads()
	for _, op := range c.Ops {
		m.addOperation(op)
	}
	for name, k := range m.kinds {
		m.complete(name, k)
	}
	return m
}

func (m *model) kind(name string) *kind {
	k, ok := m.kinds[name]
	if !ok {
		k = &kind{name: name}
		m.kinds[name] = k
	}
	return k
}

// findReads finds which operation reads one resource of which type.
func (m *model) findReads() {
	named := map[string]string{} // what other operations say about an operation that reads
	for _, op := range m.contract.Ops {
		if op.Creates != nil && op.Creates.Read != "" {
			named[op.Creates.Read] = op.Creates.Resource
		}
	}
	for _, op := range m.contract.Ops {
		if op.Job == nil {
			continue
		}
		for id, fallback := range map[string]string{op.Job.Read: kindJob, op.Job.Artifact: kindArtifact} {
			if _, ok := named[id]; !ok && id != "" {
				named[id] = fallback
			}
		}
	}
	for _, op := range m.contract.Ops {
		name := lastPathParam(op.Path)
		if op.Method != "GET" || op.Collection != nil || name == "" {
			continue
		}
		switch ref := refOf(op, "path", name); {
		case ref != nil && strings.HasSuffix(op.Path, "}"):
			m.read[op.ID] = ref.Resource
		case named[op.ID] != "":
			m.read[op.ID] = named[op.ID]
		}
	}
}

func (m *model) addOperation(op *spec.Operation) {
	if name, ok := m.read[op.ID]; ok {
		k := m.kind(name)
		if k.read == nil {
			k.read = op
		}
	}
	if op.Collection != nil {
		k := m.kind(op.Collection.Resource)
		k.list, k.id = op, op.Collection.ID
	}
	if op.Creates != nil {
		k := m.kind(op.Creates.Resource)
		if k.id == "" && op.Creates.ID.Part == "body" && op.Job == nil {
			k.id = op.Creates.ID.Pointer
		}
	}
	if op.Job != nil {
		name := m.jobKind(op.Job)
		if m.jobs[name] == nil {
			m.jobs[name] = op.Job
		}
		m.kind(name).state = op.Job.State
		if op.Job.Cancel != "" {
			m.cancels[op.Job.Cancel] = op.Job
		}
		m.kind(m.artifactKind(op.Job))
	}
}

// complete fills in what the operations of a type did not say.
func (m *model) complete(name string, k *kind) {
	k.machine = m.contract.Machine(name)
	if k.machine != nil && k.state == "" {
		_, member := k.machine.Schema.Parent()
		k.state = tree.PointerTo(member)
	}
	if k.read != nil {
		k.shape = answerShape(k.read, 200)
		if k.read.Access != nil {
			k.follows = k.read.Access.Follows
		}
	}
	if k.shape.in == nil && k.list != nil {
		k.shape = itemShape(k.list)
	}
	if k.id == "" {
		k.id = "/id"
		if k.read != nil {
			if p := lastPathParam(k.read.Path); k.shape.has(p) {
				k.id = tree.PointerTo(p)
			}
		}
	}
}

func (m *model) jobKind(j *spec.Job) string {
	if name := m.read[j.Read]; name != "" {
		return name
	}
	return kindJob
}

func (m *model) artifactKind(j *spec.Job) string {
	if name := m.read[j.Artifact]; name != "" {
		return name
	}
	return kindArtifact
}

// known is what is known of a resource type; of one that the contract does not name, that its id
// is in /id.
func (m *model) known(name string) *kind {
	if k, ok := m.kinds[name]; ok {
		return k
	}
	return &kind{name: name, id: "/id", machine: m.contract.Machine(name)}
}

// recordsEvent reports whether the contract lists events of a type, "job.running" for instance: it
// has a collection of events, and where the filter on their type is an enumeration, that names it.
func (m *model) recordsEvent(name string) bool {
	k := m.kinds[kindEvent]
	if k == nil || k.list == nil {
		return false
	}
	p := param(k.list, "query", "type")
	if p == nil || p.Schema == nil {
		return true
	}
	if _, enum := keyword(p.Schema, p.Schema.Raw(), "enum"); !enum {
		return true
	}
	return len(p.Schema.Validate(name)) == 0
}

// tool is the latest revision of a domain tool, or nil.
func (m *model) tool(domain string) *spec.Tool {
	for _, t := range slices.Backward(m.contract.Tools) {
		if !t.Utility && t.Domain == domain {
			return t
		}
	}
	return nil
}

// parentOf is the collection scope of a list: its path parameter; several are joined so that no two
// scopes run together.
func parentOf(op *spec.Operation, path map[string]string) string {
	if op == nil {
		return ""
	}
	names := pathParams(op.Path)
	if len(names) == 1 {
		return path[names[0]]
	}
	var vs []string
	for _, name := range names {
		vs = append(vs, url.PathEscape(path[name]))
	}
	return strings.Join(vs, "/")
}

func pathParams(template string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(template, "{")
		if !ok {
			return names
		}
		name, after, _ := strings.Cut(rest, "}")
		names, template = append(names, name), after
	}
}

func lastPathParam(template string) string {
	names := pathParams(template)
	if len(names) == 0 {
		return ""
	}
	return names[len(names)-1]
}

// pathTo fills a template's one parameter, or its last if it has several, with an id.
func pathTo(template, id string) string {
	i := strings.LastIndexByte(template, '{')
	if i < 0 {
		return template
	}
	_, after, _ := strings.Cut(template[i:], "}")
	return template[:i] + id + after
}

func refOf(op *spec.Operation, in, name string) *spec.Ref {
	for i, p := range op.Params {
		if p.In == in && p.Name == name && p.Ref != nil {
			return op.Params[i].Ref
		}
	}
	for i, r := range op.Refs {
		if r.In == in && r.Name == name {
			return &op.Refs[i]
		}
	}
	return nil
}

// successStatus is the lowest documented 2xx that is not a job's admission, else that one, else 200.
func successStatus(op *spec.Operation) int {
	best := 0
	for status := range op.Answers {
		admission := op.Job != nil && status == op.Job.Accepted
		if status >= 200 && status < 300 && !admission && (best == 0 || status < best) {
			best = status
		}
	}
	switch {
	case best != 0:
		return best
	case op.Job != nil:
		return op.Job.Accepted
	default:
		return 200
	}
}

func answerShape(op *spec.Operation, status int) shape {
	if a := op.Answers[status]; a != nil {
		return shapeOf(a.Schema)
	}
	return shape{}
}
