package bridge

// Grade says how bad what an examination found is.
type Grade string

// The grades.
const (
	GradeOK      Grade = "ok"
	GradeWarning Grade = "warning" // it works, and somebody should know
	GradeBroken  Grade = "broken"  // nothing can be rented like this
)

// Finding is one thing that was looked at in an account of a cloud.
type Finding struct {
	What  string `json:"what"` // credentials, permissions, image, network, types, quota, prices, clock
	Grade Grade  `json:"grade"`
	Said  string `json:"said"`           // what was seen
	Try   string `json:"try,omitempty"`  // one thing that helps
	Code  string `json:"code,omitempty"` // the cloud's own code, if it refused
}
