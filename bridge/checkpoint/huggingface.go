package checkpoint

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

const trainerState = "trainer_state.json"

var hfFolder = regexp.MustCompile(`^checkpoint-(\d+)$`)

// huggingFace is the Trainer's checkpoint-N: the state of the trainer is written
// after the weights. The Trainer resumes from the highest N.
var huggingFace = kind{
	name:   "huggingface",
	itself: func(base string, _ []file) bool { return hfFolder.MatchString(base) },
	gather: func(es []file) []candidate {
		return pick(es, func(f *file) bool { return f.dir && hfFolder.MatchString(f.base()) })
	},
	order: byStep,
	check: func(l *look, c *candidate) error {
		if err := l.fillIn(c); err != nil {
			return err
		}
		return l.checkTrainer(c)
	},
}

func (l *look) checkTrainer(c *candidate) error {
	state := named(c.files, path.Join(c.name, trainerState))
	if state == nil {
		return &flaw{bridge.FlawMarker, "no " + trainerState}
	}
	var s struct {
		Step *int64 `json:"global_step"`
	}
	if err := l.readJSON(state, &s); err != nil {
		return err
	}
	if s.Step == nil {
		return &flaw{bridge.FlawTruncated, trainerState + " gives no step"}
	}
	c.step = *s.Step
	weights := false
	for i := range c.files {
		f := &c.files[i]
		if f.dir || f.link || path.Dir(f.name) != c.name {
			continue
		}
		is, err := l.checkState(c, state, f)
		if err != nil {
			return err
		}
		weights = weights || is
	}
	return l.checkFolders(c, weights)
}

// checkState checks one file of a checkpoint, and reports whether it is, or
// leads to, weights.
func (l *look) checkState(c *candidate, state, f *file) (weights bool, err error) {
	base := f.base()
	switch {
	case base == latestFile:
		return true, l.checkLatest(c.files, f)
	case strings.HasSuffix(base, ".index.json"):
		return true, l.shards(f, c.files)
	case strings.HasPrefix(base, "rng_state"): // some versions write it last of all
		return false, l.whole(f)
	case base == "training_args.bin": // settings, not state
		return false, nil
	case hasSuffix(f, ".safetensors", ".bin", ".pt", ".pth"):
		if err := writtenLast(state, f); err != nil {
			return false, err
		}
		return strings.Contains(base, "model"), l.whole(f)
	}
	return false, nil
}

// checkFolders checks sharded states in folders of their own, as FSDP writes
// them.
func (l *look) checkFolders(c *candidate, weights bool) error {
	for i := range c.files {
		dir := c.files[i]
		if !dir.dir || path.Dir(dir.name) != c.name {
			continue
		}
		within := slices.DeleteFunc(slices.Clone(c.files), func(f file) bool { return path.Dir(f.name) != dir.name })
		if !isDistributed(within) {
			continue
		}
		weights = true
		if err := l.distributed(dir.name, within); err != nil {
			return err
		}
	}
	if !weights {
		return &flaw{bridge.FlawShard, "no weights"}
	}
	return nil
}
