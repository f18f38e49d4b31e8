package mutant

import (
	"net/http"
	"time"
)

// pollDelays are servers that ask in a wrong form for a delay before a job is read again.
func pollDelays() []Mutant {
	return []Mutant{
		{
			ID: "job-delay-in-words", Does: "Says with a unit when to read an active job again.", Contract: "seer",
			Breaks: []string{"jobs.poll-delay"}, May: alsoPassive(), Wrap: activeJobs(func(h http.Header) { h.Set("Retry-After", "1s") }),
		},
		{
			ID: "job-delay-negative", Does: "Asks for a negative delay once the job is overdue.", Contract: "seer",
			Breaks: []string{"jobs.poll-delay"}, May: alsoPassive(), Wrap: activeJobs(func(h http.Header) { h.Set("Retry-After", "-1") }),
		},
		{
			ID: "job-delay-fraction", Does: "Asks for a fraction of a second before the next read.", Contract: "seer",
			Breaks: []string{"jobs.poll-delay"}, May: alsoPassive(), Wrap: activeJobs(func(h http.Header) { h.Set("Retry-After", "0.5") }),
		},
		{
			ID: "job-delay-twice", Does: "Lets both the application and its gateway say when to read again.", Contract: "seer",
			Breaks: []string{"jobs.poll-delay"}, May: alsoPassive(), Wrap: activeJobs(func(h http.Header) { h["Retry-After"] = []string{"0", "1"} }),
		},
		{
			ID: "job-delay-timestamp", Does: "Says as a timestamp of RFC 3339 when to read an active job again.", Contract: "seer",
			Breaks: []string{"jobs.poll-delay"}, May: alsoPassive(), Wrap: activeJobs(func(h http.Header) { h.Set("Retry-After", time.Now().UTC().Format(time.RFC3339)) }),
		},
		{
			ID: "job-delay-local-time", Does: "Says as a local time when to read a waiting job again.", Contract: "seer",
			Breaks: []string{"jobs.poll-delay"}, May: alsoPassive(),
			Wrap: edit(func(r *http.Request, a *answer) {
				if is(r, "GET", "/v1/jobs/*") && a.header.Get("Retry-After") != "" {
					a.header.Set("Retry-After", time.Now().Format(time.RFC1123Z))
				}
			}),
		},
	}
}

func alsoPassive() []May {
	return []May{{"wire.retry-after", "the header is judged on every answer, by whatever case it was read"}}
}

// activeJobs changes the headers of reads of jobs that have not ended.
func activeJobs(change func(http.Header)) func(http.Handler) http.Handler {
	return edit(func(r *http.Request, a *answer) {
		if s := a.text("state"); is(r, "GET", "/v1/jobs/*") && (s == "accepted" || s == "running") {
			change(a.header)
		}
	})
}
