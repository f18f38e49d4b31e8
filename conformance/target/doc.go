// Package target speaks to the server under test: the profile that says what the kit cannot know,
// the capabilities it gives, a REST caller that puts exactly one request on the wire per call,
// hooks, and the redaction of everything that is recorded.
package target
