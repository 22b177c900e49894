package bridge

import "errors"

// Errors of schedulers and stores that are final answers, not faults.
var (
	ErrBusy           = errors.New("a job holds the node")
	ErrNotRestartable = errors.New("the job may not be requeued")
	ErrNoJob          = errors.New("no such job")
	ErrNoMachine      = errors.New("no such machine is rented")
	ErrOverBudget     = errors.New("over budget")
	ErrLapsed         = errors.New("the question has lapsed")
	ErrClaimed        = errors.New("this machine has enrolled already, from another address")
	ErrVersion        = errors.New("changed by somebody else meanwhile")
	ErrEpoch          = errors.New("another bridge has taken over this store")
)
