// Package call sends HTTP requests that outlast their caller. Code hands a request over and goes on; thousands wait in flight in one
// process; the answer comes back as a callback, exactly one final outcome per request, whatever dies meanwhile.
//
//	var Fetched = call.Define("fetched", call.Callback{
//		OnComplete: func(ctx context.Context, r *call.Response) error { return users.Save(ctx, r.Body) },
//		OnError:    func(ctx context.Context, e *call.Error) error { return users.Lost(ctx, e.Type) },
//	}, call.Config{})
//
//	Fetched.Serve(k)                                                                       // this process sends and calls back
//	h, err := Fetched.Get(ctx, k, "https://api.example.com/users/7", call.Options{Args: 7}) // any process starts it
//
// ExampleDefine is a whole program.
//
// # What it promises
//
// When Start has returned without an error, one of OnComplete and OnError is called, whatever dies. A request is a task of the
// kind "call.send", in the queue "calls" and in the lane of its host; that a process has taken it up is durable before a byte is sent. Its
// callback is a task of its own in the queue "callbacks", written by the same step that ends the request, by whichever road it
// ends: answered, failed, crashed, cancelled, expired. It has its own retries, and the answer is kept until it has ended.
//
// A request may be sent more than once: its process can die after it was sent. Idempotency-Key, X-Request-Id and the id of the
// task are the same on every attempt, Outlast-Attempt counts them. Who cannot have that says FailUnknown. A callback may be called more
// than once as well, if its process dies in it: Response.ID and Error.ID are the same.
//
// # How a request ends
//
// Any answer is a completion, whatever its status; FailOnStatus makes all but 200 to 299 an error. Statuses that another attempt may
// mend (408, 425, 429, 500, 502, 503, 504, 529) and failures of the network are tried again, as the Retry of the request says, after
// the time that the server asks for; these waits are in the store, not in a process. What is tried in vain for the last time is final: an
// answer is then a completion all the same.
//
// # What it leaves to others
//
// How many are in flight is for kernel.Config.Slots of the queue "calls" to say; encryption for kernel.Config.Sealer: requests, answers and the args
// of callbacks are args and results of tasks. Labels, keys and the host of a request are not sealed. Large bodies are blobs of the
// kernel: see kernel.Config.Blobs.
package call
