package bridge

import "time"

// Parcel is something to show to people, kept until it was delivered. What is
// in it is the messenger's own.
type Parcel struct {
	ID  int64 // given by the store, increasing
	Rev int64 // goes up when a later parcel of the same key replaces the body
	// Lane is how urgent it is; smaller goes first.
	Lane    int
	Surface string
	// Key, where given, names what is shown: of two undelivered parcels of one
	// key the later one is delivered alone.
	Key string
	// Target is what it goes to; parcels of one target keep their order.
	Target string
	// Once, where given, lets the first parcel of this name out and no other.
	Once string
	// Source is the knock that it answers; empty: none.
	Source string
	Body   []byte
	After  time.Time // not to be delivered before
	Tries  int       // that did not succeed
	Made   time.Time
}

// Copy is one place where the message of a key is shown.
type Copy struct {
	Key     string
	Channel string
	TS      string // the messenger's own name of the message
	Target  string // what it was posted to: the channel, or a person
	Hash    string // of what it shows
	At      time.Time
}

// Knock is something that a person did and that waits for its answer.
type Knock struct {
	Key  string // the same delivery twice has the same key
	At   time.Time
	Body []byte
}
