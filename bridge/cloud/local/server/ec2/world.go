package ec2

import (
	"net/http"
	"time"

	"spillway.sh/spillway/bridge/cloud/local/wire"
)

// World is the local cloud as the dialect rents from it. Its limits, faults,
// stock, prices, quotas and ledger are those of every other customer.
type World interface {
	// Account finds the account of a cloud that a key id names, and its secret.
	Account(cloud, key string) (account, secret string, ok bool)
	// Pools are all pools of a cloud at the price of now, without what is left.
	Pools(cloud string) []wire.Offer
	// Admit counts a call against the account's limits, and says whether it may go on.
	Admit(c Call) bool
	// Begin takes a call through the faults that come before any effect. It may
	// end the connection.
	Begin(r *http.Request, c Call) (Work, *No)
}

// Call says what is asked for, by whom.
type Call struct {
	Cloud, Account string
	Service        string // ec2, sts, pricing, servicequotas
	Region         string // that the request is signed for
	Action         string // RunInstances
	Op             string // the same as the world's faults and limits name it: create
	Pool           wire.Pool
}

// Work is a call under way. Of machines it knows the account's own.
type Work interface {
	Now() time.Time
	// Left is how many machines of a pool can still be had.
	Left(pool wire.Pool) int
	// Create returns the machines of an order, and whether its token has been used before.
	Create(o Order) (made []Machine, again bool, no *No)
	List(l Look) (Page, *No)
	// Find returns those that there are, by id, listed or not yet.
	Find(ids []string) map[string]Machine
	// Terminate ends machines and returns them before and after.
	Terminate(ids []string) ([]Change, *No)
	// Tag sets tags of machines, and takes those of unset away.
	Tag(ids []string, set map[string]string, unset []string) *No
	Quotas() []Quota
	// History is what a pool cost at from and each price that it has had since, up
	// to to, the latest first.
	History(pool wire.Pool, from, to time.Time) []Moment
	// End takes the call through the faults that come after the effect. It may end
	// the connection.
	End() *No
}

// Order asks for machines: as many of Create.Count as there are, at least Least,
// or none.
type Order struct {
	wire.Create
	Least int
	// Hash stands for all that the customer has said; with it the same token is
	// the same order.
	Hash   string
	Manner Manner
}

// Manner is how a machine was asked to be, as far as the world has a use for it.
type Manner struct {
	Image string `json:"image"`
	// TokenRequired closes the metadata service to those without a session token.
	TokenRequired bool `json:"token_required,omitempty"`
	// MetadataTags opens the machine's tags to itself.
	MetadataTags bool   `json:"metadata_tags,omitempty"`
	Interface    string `json:"interface,omitempty"` // efa; empty: a plain one
}

// Machine is one machine with what EC2 tells beside it.
type Machine struct {
	wire.Instance
	Reservation string // the create it came from
	Index       int    // among the machines of that create
	MaxRate     wire.Rate
	Manner      Manner
	Visible     bool // lists show it by now
}

// Look is what to list.
type Look struct {
	Match func(m *wire.Instance) bool
	Size  int    // of a page; zero: the cloud's own
	Next  string // goes on with a listing
}

// Page is one page of a listing.
type Page struct {
	Machines []Machine
	Next     string
}

// Change is a machine's state before and after a call.
type Change struct {
	ID            string
	Before, After wire.State
}

// Quota is a limit in vCPUs.
type Quota struct {
	Region string // empty: of all together
	Market string // empty: of both together
	Family string // of types; empty: all
	VCPUs  int
}

// Moment is a price from a time on.
type Moment struct {
	At    time.Time
	Micro int64
}
