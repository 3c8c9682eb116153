package store

import "time"

// Message is a signal to a task.
type Message struct {
	ID     ID // made by the sender: the same id is the same message
	Task   ID
	Name   string
	Body   []byte
	SentAt time.Time
}
