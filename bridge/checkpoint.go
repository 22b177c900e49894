package bridge

import "time"

// Checkpoint is the newest complete checkpoint of a job.
type Checkpoint struct {
	Job       JobID     `json:"job"`
	Step      int64     `json:"step"` // negative: it does not say
	At        time.Time `json:"at"`   // written
	Place     string    `json:"place"`
	Bytes     int64     `json:"bytes"`
	Framework string    `json:"framework"`
	// Done is how long the job had computed by then, over all its runs; zero: unknown.
	Done time.Duration `json:"done"`
	// Every is the measured time between the latest checkpoints, Save how long
	// one takes to write; zero: unknown.
	Every time.Duration `json:"every"`
	Save  time.Duration `json:"save"`
}

// CheckpointRule says where a kind of job keeps its checkpoints. Rules are
// shared by all demands they apply to and must not be changed.
type CheckpointRule struct {
	Name      string `json:"name"`
	Framework string `json:"framework"` // pytorch, lightning, deepspeed, huggingface, tensorflow, generic; empty: whatever is found
	// Path is a folder or a pattern on a shared file system or s3://bucket/prefix;
	// %u is the user, %j the job id, %x its name, and %{key} a key=value of its comment
	// or an annotation.
	Path string `json:"path"`
	// Roots are the folders that Path may lead into, whatever a job's comment
	// says; %u in them is the user.
	Roots []string `json:"roots,omitempty"`
	// Atomic says that jobs write under another name and rename: what has its own
	// name and a settled size is complete.
	Atomic bool          `json:"atomic,omitempty"`
	MaxAge time.Duration `json:"max_age"` // older does not let a job go to spot; zero: any age
	// Required keeps a job from spot until it has written one.
	Required bool `json:"required"`
}
