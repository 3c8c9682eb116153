// Package calls shows with real processes what package call promises: processes that send requests are killed by kill -9 at
// every place between the claim of a request and the end of its callback, and what became of each request is counted outside: by
// the server that was called, and by a log that the callbacks write. It runs on every engine that
// outlives a process, on real servers. The tests are all there is to it.
package calls
