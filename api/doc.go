// Package api is the HTTP API of the daemon: JSON under /v1 for programs in any language. They submit tasks and calls, work as workers
// elsewhere under the same fences as a process that has a handle on the store, and operate what waits and runs.
//
// All routes stand in one table (routes.go): method, path, scope, types of the request and the answer, and handler. The OpenAPI document
// at /v1/openapi.json, the check of scopes and the page docs/api.md are made of it.
//
// # What it promises
//
// An answer of 200 to 299 is durable. Every refusal is application/problem+json with a code for machines; 503 with the code in_doubt says that
// the store did not answer, and that the same request, with the same id or nonce, may be repeated. A late write of a worker that lost its
// task is 409 with the code fenced, and changes nothing. What belongs to another namespace is 404.
//
// # What it leaves to others
//
// TLS, listening and signals are for who serves it; who may do what is for Config.Tokens to say.
package api
