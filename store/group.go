package store

import "time"

// GroupState says where a group stands.
type GroupState string

// The states of a group.
const (
	GroupFilling GroupState = "filling"
	GroupHeld    GroupState = "held"
	GroupOpen    GroupState = "open"
	GroupClosed  GroupState = "closed"
)

// NewGroup creates a group. A known id has no effect, whatever else it says, save that Seal is obeyed.
type NewGroup struct {
	ID        ID
	Name      string
	Hold      bool  // once sealed, wait for Release
	Seal      bool  // seal it at the end of the step that creates it
	Parent    ID    // woken when the group closes
	OnClose   *Spec // submitted when the group closes; its ID is set by the store
	Labels    map[string]string
	Retention time.Duration // of the group's own record, after its last member went; 0: with it
}

// Group is the record of a group.
type Group struct {
	NewGroup
	State      GroupState
	Sealed     bool
	Aborting   string // the reason, once it was aborted
	Generation int    // grows with each reopening; 1 at first
	Version    int64

	Total, Done, Failed, Cancelled int64 // members of all states, and those that ended

	Keeper    ID // ends, and the members may expire
	CreatedAt time.Time
	ClosedAt  time.Time
	UpdatedAt time.Time
}

// Live returns how many members have not ended.
func (g *Group) Live() int64 { return g.Total - g.Done - g.Failed - g.Cancelled }
