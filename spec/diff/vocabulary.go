package diff

import "assay.kit/spec/tree"

// meanings is the table of what x-assay says: one row a member, with the grade of each edit. A member of
// the vocabulary without a row fails a test; one that is not in the vocabulary is for people to judge.
func meanings() []meaning {
	var rows []meaning
	rows = append(rows, documentMeanings()...)
	rows = append(rows, operationMeanings()...)
	rows = append(rows, collectionMeanings()...)
	rows = append(rows, propertyMeanings()...)
	rows = append(rows, toolMeanings()...)
	return append(rows, requirementMeanings()...)
}

// promise is a row that may be given and not taken back.
func promise(path, why string) meaning {
	return meaning{path: path, added: fine, removed: bad, changed: bad, side: Client, why: why}
}

func promised(path, why string) meaning {
	m := promise(path, why)
	m.form = object
	return m
}

func documentMeanings() []meaning {
	limits := promise("document.connection.limits.*", "A client that takes its quotas from there no longer finds them.")
	context := promise("document.connection.context.*", "A client that reads there what its credential is bound to no longer finds it.")
	code := promise("document.codes.*", "A client that acts on the status and the code of a refusal no longer knows it.")
	statuses := meaning{path: "document.backpressure.statuses", form: set, added: look, removed: bad, side: Client, why: "A client waits and comes back on these statuses and on no others."}
	return []meaning{
		{path: "document.profile", added: look, removed: look, changed: look, side: Client, why: "Another profile brings other defaults; those that differ are findings of their own."},
		{path: "document.environment", form: object, added: fine, removed: look, side: Client, why: "Set-ups that read these variables find nothing."},
		{path: "document.environment.baseUrl", added: fine, removed: look, changed: look, side: Client, why: "Set-ups that fill this variable are no longer read."},
		{path: "document.environment.token", added: fine, removed: look, changed: look, side: Client, why: "Set-ups that fill this variable are no longer read."},
		promised("document.error", "A client no longer knows where a refusal says what it is."),
		promise("document.error.mediaType", "A client that picks refusals by their media type misses them."),
		promise("document.error.code", "A client looks for the stable code at the old place."),
		promise("document.error.requestId", "Whoever reports a refusal looks for the request id at the old place."),
		promise("document.error.violations", "A client looks for what was wrong with its request at the old place."),
		promised("document.connection", "A client no longer knows where its limits are told."),
		promise("document.connection.operation", "A client asks the old operation for its limits."),
		{path: "document.connection.limits", form: mapping}, limits,
		{path: "document.connection.context", form: mapping}, context,
		promise("document.correlation", "Whoever follows a request through logs looks for its id at the old place."),
		promised("document.backpressure", "A client no longer knows when to come back."),
		statuses,
		promise("document.backpressure.delay", "A client looks for the delay at the old place, and comes back too early."),
		agents(promised("document.mcp", "An agent no longer knows where the tools are.")),
		agents(promise("document.mcp.endpoint", "An agent looks for the endpoint of the tools at the old place.")),
		agents(promise("document.mcp.revision", "A client of the old protocol revision may be refused.")),
		agents(promise("document.mcp.prefix", "Every tool has another name.")),
		agents(promise("document.mcp.separator", "Every tool with a dot in its domain name has another name.")),
		agents(promise("document.mcp.envelope", "An agent looks for a tool's data at the old place.")),
		{path: "document.mcp.utilities", form: set, added: fine, removed: bad, side: Agent, why: "An agent that follows jobs through this tool no longer can."},
		{path: "document.volatile", form: set, added: look, removed: fine, side: Client, why: "Whoever compares two answers finds a difference there."},
		{path: "document.codes", form: mapping}, code,
	}
}

func agents(m meaning) meaning {
	m.side = Agent
	return m
}

// effectWeight: a client or a person decides by the effect whether to ask first.
const effectWhy = "Whoever asks people before an effect, or lets an agent call what only reads, decides by this."

func operationMeanings() []meaning {
	refusal := "A client that acts on the status and the code of this refusal no longer knows it."
	binds := "A retry that used to lead to the first answer may do its work twice, or be refused."
	return []meaning{
		{path: "operation.origin", added: look, removed: look, weigh: from("inferred", "stated"), side: Client, why: "What was stated is now only inferred, so nobody can insist on it."},
		{path: "operation.effect", added: bad, removed: bad, changed: bad, side: Money, sealed: true, why: effectWhy},
		{path: "operation.authority", form: set, added: bad, removed: bad, side: Money, sealed: true, why: "What a caller must hold for it decides who can do it, and with whose money."},
		{path: "operation.immutable", added: fine, removed: bad, weigh: towards(true), side: Client, why: "A client that keeps the resource as it once was holds an old one."},
		{path: "operation.volatile", form: set, added: look, removed: fine, side: Client, why: "Whoever compares two answers finds a difference there."},
		promised("operation.access", "A client no longer knows how a foreign id is answered."),
		promise("operation.access.foreign", "A client tells by this whether a thing is not there or not its own."),
		{path: "operation.access.follows", added: look, removed: bad, changed: bad, side: Client, why: "Somebody else may see the resource now, or its owner no longer."},
		promised("operation.creates", "A client no longer knows that this makes something, and where its id is."),
		promise("operation.creates.resource", "It makes something else."),
		promise("operation.creates.id", "A client looks for the new id at the old place."),
		promise("operation.creates.read", "A client reads back what it made through the old operation."),
		promise("operation.creates.list", "A client looks for what it made in the old list."),
		money(promised("operation.idempotency", "A client that lost the answer can no longer retry safely.")),
		promise("operation.idempotency.key", "A key at the old place is not seen, so a retry does the work twice."),
		{path: "operation.idempotency.required", added: bad, removed: fine, weigh: towards(false), side: Client, why: "A request without a key is refused."},
		{path: "operation.idempotency.maxLength", added: bad, removed: fine, weigh: atMost, side: Client, why: "A long key is refused."},
		promise("operation.idempotency.scope", "What a key is bound to decides which requests are one: "+binds),
		promise("operation.idempotency.fingerprint", "What counts as the same payload decides which requests are one: "+binds),
		{path: "operation.idempotency.conflict", form: object, added: fine, removed: bad, side: Client, why: refusal},
		promise("operation.idempotency.conflict.status", refusal),
		promise("operation.idempotency.conflict.code", refusal),
		{path: "operation.idempotency.missing", form: object, added: fine, removed: bad, side: Client, why: refusal},
		promise("operation.idempotency.missing.status", refusal),
		promise("operation.idempotency.missing.code", refusal),
		promise("operation.idempotency.inFlight", "A twin that is sent while the first is at work is answered differently."),
		promise("operation.idempotency.replay", "A repeated request gets another answer."),
		promise("operation.idempotency.stores", "Another set of outcomes binds the key."),
		{path: "operation.idempotency.retention", added: fine, removed: bad, weigh: atMost, side: Client, why: "A late retry does the work twice."},
		promise("operation.idempotency.expires", "A client looks at the old place for how long it may retry."),
		promise("operation.idempotency.afterExpiry", "A key that has expired means something else."),
		promised("operation.job", "A client no longer knows where the outcome of the work will be."),
		promise("operation.job.accepted", "A client that waits for this status takes the admission for something else."),
		promise("operation.job.id", "A client looks for the job's id at the old place."),
		promise("operation.job.statusUrl", "A client looks for the job's address at the old place."),
		promise("operation.job.read", "A client follows the job through the old operation."),
		promise("operation.job.cancel", "A client cancels through the old operation."),
		promise("operation.job.state", "A client looks for the state at the old place and waits for ever."),
		promise("operation.job.result", "A client looks for the result at the old place."),
		promise("operation.job.artifact", "A client fetches the result through the old operation."),
		promise("operation.job.error", "A client looks for the reason of a failure at the old place."),
		promise("operation.job.success", "A client waits for the old state and never sees that the work is done."),
		promise("operation.job.failure", "A client waits for the old state and never sees that the work has failed."),
		promise("operation.job.cancelled", "A client waits for the old state after it has cancelled."),
		promised("operation.moves", "A client no longer knows which transition this drives."),
		promise("operation.moves.resource", "It drives another machine."),
		{path: "operation.moves.from", form: set, added: fine, removed: bad, side: Client, why: "In this state the transition is now refused."},
		promise("operation.moves.to", "It leads to another state."),
	}
}

func money(m meaning) meaning {
	m.side = Money
	return m
}

func collectionMeanings() []meaning {
	walk := "A walk that a client has begun, or a client that was written for the old one, "
	refusal := "A client that acts on the status and the code of this refusal no longer knows it."
	limit := func(name string, weigh func(a, b *tree.Node) Grade, why string) meaning {
		return meaning{path: "operation.collection.limit." + name, added: bad, removed: fine, changed: bad, weigh: weigh, side: Client, why: why}
	}
	return []meaning{
		promised("operation.collection", "A client no longer knows how the list is walked and when it ends."),
		promise("operation.collection.resource", "The list holds something else."),
		promise("operation.collection.items", walk+"looks for the items at the old place."),
		promise("operation.collection.next", walk+"looks for the next cursor at the old place and stops after one page."),
		promise("operation.collection.cursor", walk+"sends its cursor where nobody looks, and reads the first page again and again."),
		promised("operation.collection.limit", "A client no longer knows how to ask for a page's size."),
		limit("param", nil, "A client asks for its page size by the old name."),
		limit("min", atLeast, "A small page is refused."),
		limit("max", atMost, "A large page is refused, or comes shorter."),
		limit("default", nil, "The same request gives another page."),
		{path: "operation.collection.limit.outOfRange", added: look, removed: look, weigh: softer, side: Client, why: "A page size out of range is answered differently."},
		promise("operation.collection.id", "A client looks for an item's id at the old place."),
		promised("operation.collection.order", "The order of the items is no longer promised."),
		promise("operation.collection.order.param", "A client asks for its order by the old name."),
		promise("operation.collection.order.default", "The same request gives another order."),
		{path: "operation.collection.order.values", form: mapping},
		promise("operation.collection.order.values.*", "A client that asks for this order is refused or gets another."),
		{path: "operation.collection.filters", form: mapping},
		promised("operation.collection.filters.*", "A client that narrows the list by this gets other items."),
		promise("operation.collection.filters.*.member", "The filter looks at another member."),
		promise("operation.collection.filters.*.match", "The filter takes other items."),
		{path: "operation.collection.filters.*.mutable", added: look, removed: look, changed: look, side: Client, why: "An item may enter or leave the filtered list while it is walked."},
		{path: "operation.collection.isolate", form: object, added: fine, removed: look, side: Server, why: "Whoever judges a server can no longer walk only items of its own."},
		{path: "operation.collection.isolate.time", added: fine, removed: look, changed: look, side: Server, why: "Whoever judges a server narrows its walks by this."},
		{path: "operation.collection.isolate.path", added: fine, removed: look, changed: look, side: Server, why: "Whoever judges a server narrows its walks by this."},
		{path: "operation.collection.isolate.param", added: fine, removed: look, changed: look, side: Server, why: "Whoever judges a server narrows its walks by this."},
		{path: "operation.collection.isolate.member", added: fine, removed: look, changed: look, side: Server, why: "Whoever judges a server narrows its walks by this."},
		{path: "operation.collection.snapshot", added: fine, removed: bad, weigh: from("none", "watermark"), side: Client, why: "A walk no longer shows one state: items may come twice or be missed."},
		promise("operation.collection.end", "A client waits for the old sign of the last page and walks on."),
		{path: "operation.collection.invalid", form: object, added: fine, removed: bad, side: Client, why: refusal},
		promise("operation.collection.invalid.status", refusal),
		promise("operation.collection.invalid.code", refusal),
		{path: "operation.collection.expired", form: object, added: fine, removed: bad, side: Client, why: refusal},
		promise("operation.collection.expired.status", refusal),
		promise("operation.collection.expired.code", refusal),
		{path: "operation.collection.ttl", added: look, removed: look, weigh: atMost, side: Client, why: "A cursor that a client keeps expires sooner."},
	}
}

// softer: a size that was refused and is now cut to the largest misleads only who relied on the refusal.
func softer(_, b *tree.Node) Grade {
	if b.Text == "clamp" {
		return Review
	}
	return Breaking
}

func propertyMeanings() []meaning {
	return []meaning{
		{path: "property.unit", added: look, removed: bad, changed: bad, side: Money, sealed: true, method: true, why: "The same number means another amount."},
		{path: "property.money", form: object, added: look, removed: bad, side: Money, sealed: true, method: true, why: "A reader no longer knows that this is money, nor its scale."},
		{path: "property.money.amount", added: bad, removed: bad, changed: bad, side: Money, sealed: true, method: true, why: "The amount is read from the old place."},
		{path: "property.money.asset", added: bad, removed: bad, changed: bad, side: Money, sealed: true, method: true, why: "The asset is read from the old place."},
		{path: "property.money.scale", added: bad, removed: bad, changed: bad, side: Money, sealed: true, method: true, why: "The scale is read from the old place, so the amount is off by powers of ten."},
		promised("property.ref", "A client no longer knows what this id names."),
		promise("property.ref.resource", "The id names something else."),
		{path: "property.ref.from", added: fine, removed: look, changed: look, side: Client, why: "Ids come from another operation."},
		{path: "property.ref.at", added: fine, removed: look, changed: look, side: Client, why: "Ids come from another place of the answer."},
		{path: "property.ref.free", added: fine, removed: bad, weigh: towards(true), side: Client, why: "A caller may no longer choose the id."},
		{path: "property.states", form: machine, added: fine, removed: bad, side: Client, why: "A client no longer knows which state may follow which, and when to stop waiting."},
		{path: "property.states.resource", added: bad, removed: bad, changed: bad, side: Client, why: "The machine is that of another resource."},
		{path: "property.states.initial", added: bad, removed: bad, changed: bad, side: Client, why: "A new resource shows another state."},
		{path: "property.states.transitions", form: set, added: look, removed: bad, side: Client, why: "A client waits for a state that no longer follows, or sees one that could not follow."},
		{path: "property.states.terminal", form: set, added: bad, removed: bad, side: Client, why: "A client stops too early, or waits for ever."},
		{path: "property.states.new", form: set, added: bad, side: Client, why: "A client was told that there are no other states than those it knows."},
		{path: "property.states.meaning.*", added: fine, removed: look, changed: bad, side: Client, why: "The same state stands for something else."},
		{path: "property.states.open", added: bad, removed: fine, weigh: towards(false), side: Client, why: "A client that knows every state must now tolerate others."},
		{path: "property.open", added: bad, removed: fine, weigh: towards(false), side: Client, why: "A reader that knows every value must now tolerate others."},
		{path: "property.opaque", added: fine, removed: bad, weigh: towards(true), side: Client, why: "What a client put in may come back changed."},
		{path: "property.volatile", added: look, removed: fine, weigh: towards(false), side: Client, why: "Whoever compares two answers finds a difference there."},
		promise("property.toolInput", "The object has the schema of another tool."),
	}
}

func toolMeanings() []meaning {
	return []meaning{
		agents(promise("tool.domain", "The tool is the other face of another domain tool.")),
		agents(promise("tool.operation", "The tool does what another operation does.")),
		{path: "tool.effect", added: bad, removed: bad, changed: bad, side: Money, sealed: true, why: effectWhy},
		{path: "tool.scopes", form: set, added: bad, removed: fine, side: Money, sealed: true, why: "A token without this scope is refused."},
		{path: "tool.async", added: bad, removed: bad, changed: bad, side: Agent, why: "An agent that expects a result gets a job, or the reverse."},
		agents(promised("tool.idempotency", "A call that is repeated after a lost answer does its work twice.")),
		agents(promise("tool.idempotency.argument", "A key in the old argument is not seen, so a repeated call does its work twice.")),
		agents(promise("tool.idempotency.meta", "A key in the old member is not seen, so a repeated call does its work twice.")),
		{path: "tool.revision", form: object, added: fine, removed: bad, side: Agent, why: "Nobody can pin the tool's schema any more."},
		{path: "tool.revision.schema", added: fine, removed: bad, changed: fine, side: Agent, why: "A revision is the bump that other changes ask for."},
		{path: "tool.revision.method", added: fine, removed: bad, changed: fine, side: Agent, why: "Results of the old method and of the new one do not compare; the revision says so."},
		{path: "tool.examples", added: Doc, removed: Doc, changed: Doc, side: Agent, why: "Only an example."},
	}
}

func requirementMeanings() []meaning {
	return []meaning{
		{path: "requirement.id", added: bad, removed: bad, changed: bad, side: Client, why: "The promise has another name."},
		{path: "requirement.role", added: bad, removed: bad, changed: bad, side: Client, why: "Somebody else has to keep the promise."},
		{path: "requirement.origin", added: bad, removed: bad, weigh: from("inferred", "stated"), side: Client, why: "What was stated is now only inferred, so nobody can insist on it."},
		{path: "requirement.level", added: look, removed: fine, weigh: stronger, side: Client, why: "The promise is weaker: nobody can insist on it."},
		{path: "requirement.needs", form: set, added: look, removed: fine, side: Server, why: "The promise is judged only where this capability is given."},
		{path: "requirement.statement", added: look, removed: look, changed: look, side: Client, why: "The promise is worded differently; only people can tell whether it is weaker."},
		{path: "requirement.claims", form: set, added: fine, removed: look, side: Server, why: "This part of the promise is no longer judged."},
		{path: "requirement.source", added: Doc, removed: Doc, changed: Doc, side: Client, why: "Only where it is written."},
		{path: "requirement.observe", added: Doc, removed: Doc, changed: Doc, side: Server, why: "Only how it can be seen."},
		{path: "requirement.note", added: Doc, removed: Doc, changed: Doc, side: Server, why: "Only a note."},
	}
}

func stronger(a, b *tree.Node) Grade {
	rank := func(n *tree.Node) int {
		return map[string]int{"MAY": 0, "SHOULD": 1, "SHOULD NOT": 1, "MUST": 2, "MUST NOT": 2}[n.Text]
	}
	if rank(b) < rank(a) {
		return Breaking
	}
	if rank(b) == rank(a) { // MUST and MUST NOT
		return Review
	}
	return Compatible
}
