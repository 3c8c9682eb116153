package ops

import (
	"context"
	"net/http"

	"github.com/outlast-go/outlast/api"
	"github.com/outlast-go/outlast/store"
)

// StartCall lets the daemon send a request. One with an id may be started again if the answer was lost.
func (d *Daemon) StartCall(ctx context.Context, c api.NewCall) (api.Submitted, error) {
	v, err := send[api.Submitted](ctx, d, http.MethodPost, "/v1/calls", c)
	if err != nil && c.ID != "" && !store.Answered(err) && ctx.Err() == nil {
		return send[api.Submitted](ctx, d, http.MethodPost, "/v1/calls", c)
	}
	return v, err
}

// WaitCall waits until a call has ended.
func (d *Daemon) WaitCall(ctx context.Context, id store.ID) (api.Call, error) {
	for {
		path := "/v1/calls/" + id.String() + "?wait=" + longPoll.String()
		v, err := sendWithin[api.Call](ctx, d, d.limit+longPoll, request{method: http.MethodGet, path: path})
		if err != nil || store.State(v.State).Terminal() {
			return v, err
		}
	}
}
