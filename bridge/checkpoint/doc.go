// Package checkpoint finds the newest complete checkpoint of a job, on shared
// file systems and in object storage that speaks S3.
//
// Complete means that whatever is written last is there: a marker, a manifest,
// the directory at the end of a zip, the last shard, the final name. A
// checkpoint that lacks it is passed over and the next older one is looked at,
// so that the answer is always one that was complete at some time. Contents are
// never loaded: only the parts that say where a file ends are read.
//
// What a job says of itself is not trusted. Its path must lie below a root that
// policy lists, links are not followed, and a file counts only if the job's own
// user could read it, however privileged the process that looks.
//
// A look is bounded in entries, bytes and time. What could not be looked at is a
// *bridge.CheckpointError and never an answer of "none".
package checkpoint
