package engine

import (
	"context"
	"time"

	"spillway.sh/spillway/bridge"
)

// What the engine needs of the world, in interfaces so small that a step names
// only what it uses. Adapters satisfy them without importing this package.

// Observer reads a cluster: one job dump and one node dump a call. An error or
// a doubtful answer must never look like an empty queue.
type Observer interface {
	Observe(ctx context.Context) (bridge.Queue, error)
}

// Joiner prepares a machine to join a cluster.
type Joiner interface {
	// UserData is the boot script of a rental's machines, the same for all of
	// one create call. It carries no secret but the enrolment ticket in b.
	UserData(ctx context.Context, r *bridge.Rental, b bridge.Boot) (string, error)
	// Enrolment is what one machine needs to join, secrets included; it is sent
	// only over the enrolment's own TLS connection.
	Enrolment(ctx context.Context, r *bridge.Rental, m *bridge.Machine) (map[string]string, error)
}

// Admitter lets machines into a scheduler and takes them out. Every call is
// safe to repeat and reads back what it wrote.
type Admitter interface {
	// Admit makes the rental's overlay hold exactly the given nodes, in one call
	// to the scheduler.
	Admit(ctx context.Context, r *bridge.Rental, nodes []string) error
	// Dismiss takes nodes out of the overlay and deletes them from the
	// scheduler; with the last node the overlay goes too. It fails with
	// bridge.ErrBusy while a job holds one of them.
	Dismiss(ctx context.Context, r *bridge.Rental, nodes []string) error
}

// Router lets pending jobs use a rental's overlay, or takes that away.
type Router interface {
	// Route lets all of the jobs in with as few writes as one would take.
	// ErrNoJob when none of them waits.
	Route(ctx context.Context, r *bridge.Rental, jobs ...bridge.JobID) error
	Unroute(ctx context.Context, r *bridge.Rental, job bridge.JobID) error
}

// Preempter brings jobs off machines that are taken back.
type Preempter interface {
	Drain(ctx context.Context, nodes []string, why string) error
	Signal(ctx context.Context, job bridge.JobID, signal, to string) error
	// Requeue puts a running job back, before its script can end by itself, and
	// makes it eligible at once when its steps are dead. bridge.ErrNotRestartable for
	// a job that must not be.
	Requeue(ctx context.Context, job bridge.JobID) error
	// Down tells the scheduler that nodes are gone.
	Down(ctx context.Context, nodes []string, why string) error
	// Expedite makes a requeued job eligible now, cutting the scheduler's own
	// delay, and repeats safely. It reports whether the job is eligible.
	Expedite(ctx context.Context, job bridge.JobID) (bool, error)
}

// Reviver repairs what a reclaim, or one that was called off, leaves behind.
type Reviver interface {
	// Undrain puts nodes back into service that were drained with that reason.
	// Those that somebody else drained stay drained.
	Undrain(ctx context.Context, nodes []string, why string) error
	// Nudge makes the scheduler look anew at a requeued job that it set aside.
	Nudge(ctx context.Context, job bridge.JobID) error
	// Ending is the scheduler's word for how a job has ended, or stands.
	// bridge.ErrNoJob when it has forgotten it.
	Ending(ctx context.Context, job bridge.JobID) (string, error)
}

// Commenter writes an explanation where the job's owner sees it.
type Commenter interface {
	Comment(ctx context.Context, job bridge.JobID, text string) error
}

// Scheduler is all of a cluster; steps take the part they use.
type Scheduler interface {
	Observer
	Joiner
	Admitter
	Router
	Preempter
	Reviver
	Commenter
}

// Cloud is one account of one cloud. All errors are *bridge.CloudError.
type Cloud interface {
	Name() string
	Offers(ctx context.Context) ([]bridge.Offer, error)
	// Create asks for all of l.Count machines or none. The same token twice is
	// the same machines.
	Create(ctx context.Context, l bridge.Launch) (bridge.Handle, error)
	// Observe returns the machines of an accepted create: a capacity failure may
	// arrive here only. A *bridge.CloudError with a refused kind ends the attempt.
	Observe(ctx context.Context, l bridge.Launch, h bridge.Handle) ([]bridge.Instance, error)
	// List returns all machines whose TagStore is storeID and those of TagCluster
	// with another store id; Complete only if every page arrived.
	List(ctx context.Context, storeID, cluster string) (bridge.Listing, error)
	Terminate(ctx context.Context, ids []string) error
}

// Extender is a cloud that ends machines by itself, and can be told a later
// end: tag and timer move together. Safe to repeat.
type Extender interface {
	Extend(ctx context.Context, ids []string, expires time.Time) error
}

// Teller is a cloud that tells of notices and changes without being asked.
// Changed returns when something may have changed since the cursor, or when ctx ends.
type Teller interface {
	Changed(ctx context.Context, cursor string) (next string, err error)
}

// Examiner is a cloud that can say what of an account works: credentials,
// permissions, image, network, types, quota. It rents nothing.
type Examiner interface {
	Examine(ctx context.Context) []bridge.Finding
}

// RentalStore keeps rentals: one method, one transaction. Every write carries
// the writer's epoch (bridge.ErrEpoch), the rental's version (bridge.ErrVersion) and the news
// of it, and increases the version by one.
type RentalStore interface {
	// Live returns bridge.ErrEpoch to a bridge that has been replaced.
	Live(ctx context.Context) ([]bridge.Rental, error)
	NextID(ctx context.Context) (bridge.RentalID, error)
	// Given is the number of the latest rental that NextID gave an id to.
	Given(ctx context.Context) (int64, error)
	// Propose stores a question: state waiting, nothing held.
	Propose(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
	// Reserve checks every budget of r.Account and its ancestors and stores hold
	// and intent together. bridge.ErrOverBudget leaves no trace.
	Reserve(ctx context.Context, r bridge.Rental, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error)
	// Adopt stores a rental that is found running, in the state it is found in.
	// Its money is spent already, so no budget is asked.
	Adopt(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
	// Save stores the next version of a rental whose hold does not change.
	Save(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
}

// MoneyStore moves money of a rental that is held.
type MoneyStore interface {
	Balances(ctx context.Context, now time.Time, budgets []bridge.Budget) ([]bridge.Balance, error)
	// Extend adds to a rental's hold, or bridge.ErrOverBudget.
	Extend(ctx context.Context, r bridge.Rental, more bridge.Money, budgets []bridge.Budget, news ...bridge.News) (bridge.Rental, error)
	// Post meters cost so far: r.Cost is the new total, the difference is posted.
	Post(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
	// Settle posts the final cost and voids the rest of the hold.
	Settle(ctx context.Context, r bridge.Rental, news ...bridge.News) (bridge.Rental, error)
}

// StateStore keeps what is not a rental.
type StateStore interface {
	StoreID() string
	Epoch() int64
	Marks(ctx context.Context) (bridge.Marks, error)
	SaveMarks(ctx context.Context, m bridge.Marks, news ...bridge.News) error
	Tell(ctx context.Context, news ...bridge.News) error
}

// Store is all of it; steps take the part they use.
type Store interface {
	RentalStore
	MoneyStore
	StateStore
}
