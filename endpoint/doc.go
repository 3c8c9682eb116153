// Package endpoint turns slow HTTP requests into tasks. The request is checked, stored and answered with 202 at once; it is
// worked on in the same process or in others, with retries and recovery; and its status is served until it is done and
// beyond. The task has the kind "endpoint.<name>".
//
//	var Reports = endpoint.Define("reports", func(ctx context.Context, in endpoint.Request[Order]) (Report, error) {
//		return build(ctx, in.Body, in.Params["customer"])
//	})
//
//	Reports.Serve(k)                                                        // this process works, once k.Run is called
//	mux.Handle("POST /customers/{customer}/reports", Reports.Handler(k, endpoint.Config{})) // this process accepts
//	mux.Handle("/tasks/", endpoint.Status(k, endpoint.Site{}))              // this process tells how it stands
//
// The three may be in one process or in three. docs/endpoints.md is the guide, with the wire format.
//
// # What it promises
//
// An answer of 202 means that the task is durable: it ends, whatever dies. A request with the same Idempotency-Key, to the
// same endpoint by the same principal, is answered with the same task as long as its record is kept, however it ended and
// however many ask at once; with other content it is refused. What is refused (400, 413, 415, 422, 429, 503) is not stored.
// 503 with the code "in_doubt" alone leaves that open: repeat the request with its key.
//
// A status never goes back once it has ended, and its ETag changes with each change. A task of another principal is not
// found, on every route. Who waits for a change is told by the store: waiting costs no query.
//
// The function may run more than once, as a process can die between an effect and the word that it is done. Run.Key is the
// same on every attempt.
//
// # What is stored
//
// Method, path, path values, query, body, and the headers that Config.Headers names beside a few harmless ones.
// Authorization and Cookie are stored only if they are named.
//
// # What it leaves to others
//
// Who the principal is (Site.Principal), slots, recovery and sealing, which are the kernel's, and transport security.
package endpoint
