package diff

// keyword is one row of the schema core: which keyword, and how two of its values are compared.
type keyword struct {
	name    string
	on      string // the only type that it restricts, "" if any
	compare func(c *pair, name string)
	covers  []string   // further keywords that this row judges
	edits   []relation // that it can tell; nil: narrowed and widened
	says    string     // what a narrower one means for whoever makes the values
}

// keywords lists the rows. What no row judges is a finding of its own.
func keywords() []keyword {
	return []keyword{
		{name: "type", compare: compareType, edits: anyRelation(), says: "the type"},
		{name: "enum", compare: compareEnum, covers: []string{"const"}, says: "the listed values"},
		{name: "required", on: "object", compare: compareRequired, says: "which members must be there"},
		{name: "properties", on: "object", compare: compareProperties, says: "the members"},
		{name: "additionalProperties", on: "object", compare: compareOpenness, covers: []string{"unevaluatedProperties"}, says: "members that are not listed"},
		{name: "patternProperties", on: "object", compare: comparePatternProperties, says: "members by pattern"},
		{name: "minimum", on: "number", compare: compareBound, covers: []string{"exclusiveMinimum"}, says: "the smallest value"},
		{name: "maximum", on: "number", compare: compareBound, covers: []string{"exclusiveMaximum"}, says: "the largest value"},
		{name: "minLength", on: "string", compare: compareBound, says: "the shortest text"},
		{name: "maxLength", on: "string", compare: compareBound, says: "the longest text"},
		{name: "minItems", on: "array", compare: compareBound, says: "the shortest list"},
		{name: "maxItems", on: "array", compare: compareBound, says: "the longest list"},
		{name: "minProperties", on: "object", compare: compareBound, says: "the fewest members"},
		{name: "maxProperties", on: "object", compare: compareBound, says: "the most members"},
		{name: "minContains", on: "array", compare: compareBound, says: "how many items must fit contains"},
		{name: "maxContains", on: "array", compare: compareBound, says: "how many items may fit contains"},
		{name: "multipleOf", on: "number", compare: compareMultiple, edits: anyRelation(), says: "the step of the number"},
		{name: "uniqueItems", on: "array", compare: compareUnique, says: "whether items may repeat"},
		{name: "pattern", on: "string", compare: compareWhole, edits: anyRelation(), says: "the pattern of the text"},
		{name: "format", on: "string", compare: compareFormat, edits: anyRelation(), says: "the format of the text"},
		{name: "items", on: "array", compare: compareSub, says: "the items"},
		{name: "contains", on: "array", compare: compareSub, says: "the item that must be there"},
		{name: "propertyNames", on: "object", compare: compareSub, says: "the names of members"},
		{name: "prefixItems", on: "array", compare: comparePrefix, edits: []relation{changed}, says: "the first items"},
		{name: "anyOf", compare: compareChoice, edits: anyRelation(), says: "the alternatives"},
		{name: "oneOf", compare: compareChoice, edits: anyRelation(), says: "the alternatives"},
		{name: "not", compare: compareWhole, edits: anyRelation(), says: "what must not fit"},
		{name: "if", compare: compareCondition, edits: anyRelation(), covers: []string{"then", "else"}, says: "the condition"},
		{name: "dependentRequired", on: "object", compare: compareDependentRequired, says: "members that come together"},
		{name: "dependentSchemas", on: "object", compare: compareWhole, edits: anyRelation(), says: "what a member asks of the others"},
		{name: "unevaluatedItems", on: "array", compare: compareWhole, edits: anyRelation(), says: "items that are not listed"},
		{name: "contentEncoding", on: "string", compare: compareNote, edits: []relation{changed}, says: "the encoding inside the text"},
		{name: "contentMediaType", on: "string", compare: compareNote, edits: []relation{changed}, says: "the media type inside the text"},
		{name: "contentSchema", on: "string", compare: compareNote, edits: []relation{changed}, says: "the value inside the text"},
		{name: "discriminator", compare: compareNote, edits: []relation{changed}, says: "what tells the alternatives apart"},
		{name: "xml", compare: compareNote, edits: []relation{changed}, says: "the spelling in XML"},
		{name: "$dynamicRef", compare: compareNote, edits: []relation{changed}, covers: []string{"$dynamicAnchor", "$recursiveRef", "$recursiveAnchor"}, says: "a reference that is bound late"},
		{name: "x-extensible-enum", compare: compareExtensible, says: "the known values of an open list"},
	}
}

func anyRelation() []relation { return []relation{narrowed, widened, changed} }
