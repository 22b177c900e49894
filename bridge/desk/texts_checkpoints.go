package desk

import "strconv"

// checkpointWords says all about checkpoints; its twin is checkpointWordsChinese.
// {name} is a fact, and a part in [brackets] is left out when its fact is not
// known.
var checkpointWords = map[string]string{
	"newest":  "The newest complete one is {place}[, step {step}], written {age} ago[ ({framework})].",
	"none":    "No complete checkpoint was found in {place}.",
	"no-rule": "Policy has no rule for where this job keeps its checkpoints, so nothing is known of them.",

	"unsaid":     "The job does not say where its checkpoints are ({place} is filled from its comment, for example sbatch --comment=ckpt=run7).",
	"outside":    "Its checkpoints would be in {place}, which is outside of the folders that policy lists, behind a link, or not open to the job's own user.",
	"unmounted":  "The storage of {place} is not there: not mounted, empty, or no such bucket.",
	"denied":     "{place} may not be read by Spillway.",
	"stale":      "The file system of {place} gave an error; what was known before still counts.",
	"slow":       "The storage of {place} did not answer in time; what was known before still counts.",
	"too-many":   "There is more in {place} than one look may read.",
	"no-storage": "{place} is in object storage, and the configuration has no storage section.",

	"empty":      "a file of it is empty[: {detail}]",
	"truncated":  "it is cut off[: {detail}]",
	"shard":      "a part is missing[: {detail}]",
	"marker":     "it is not finished[: {detail}]",
	"unsettled":  "it may still be growing[: {detail}]",
	"temporary":  "it still has a temporary name[: {detail}]",
	"unreadable": "it cannot be read[: {detail}]",
	"foreign":    "it is a link or not the job's own[: {detail}]",
	"unknown":    "nothing shows whether it is complete[: {detail}]",

	"spot-yes":                "Yes: its checkpoints are as fresh as policy wants[ (at most {most} of work between two)].",
	"spot-no-rule":            "Yes: policy asks for no checkpoint.",
	"spot-none-needed":        "Yes: policy asks for no checkpoint before the first run.",
	"spot-policy":             "No: policy has no spot for it.",
	"spot-not-restartable":    "No: the scheduler may not requeue it (sbatch --requeue).",
	"spot-reclaimed":          "No: its machine was taken {times} already, so it goes on demand.",
	"spot-no-checkpoint":      "No: policy wants a complete checkpoint first.",
	"spot-checkpoint-too-old": "No: more work than {most} would be lost.",

	"advice":         "Write one every {best}: it takes {save}, and a reclaim is to be expected every {between}[ for {nodes} machines] ({pool}).",
	"advice-sooner":  "Write them more often: every {best} instead of {every}. One takes {save}, and a reclaim is to be expected every {between}[ for {nodes} machines] ({pool}).",
	"advice-later":   "Write them less often: every {best} instead of {every}. One takes {save}, and a reclaim is to be expected every {between}[ for {nodes} machines] ({pool}).",
	"advice-well":    "Every {every} is well: {best} would lose least. One takes {save}, and a reclaim is to be expected every {between}[ for {nodes} machines] ({pool}).",
	"advice-no-save": "A reclaim is to be expected every {between}[ for {nodes} machines] ({pool}); how long one takes to write is not known yet.",
	"advice-no-spot": "It is not on spot, and no spot machine that fits is on offer.",
}

func (l Lang) checkpoint(key string, facts map[string]string) string {
	words := checkpointWords
	if l == Chinese {
		words = checkpointWordsChinese
	}
	return fill(words[key], facts)
}

// stepWords is a step for people; one that is not known says nothing.
func stepWords(step int64) string {
	if step < 0 {
		return ""
	}
	return strconv.FormatInt(step, 10)
}
