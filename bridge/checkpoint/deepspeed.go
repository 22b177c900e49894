package checkpoint

import (
	"errors"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"

	"spillway.sh/spillway/bridge"
)

const latestFile = "latest" // written when all ranks have saved

var (
	globalStep  = regexp.MustCompile(`^global_step(\d+)$`)
	modelStates = regexp.MustCompile(`model_states\.pt$`)
	optimStates = regexp.MustCompile(`_(\d+)_mp_rank_(\d+)_optim_states\.pt$`)
)

// deepSpeed is a folder for each tag, and latest beside them.
var deepSpeed = kind{
	name: "deepspeed",
	itself: func(_ string, es []file) bool {
		return slices.ContainsFunc(es, func(f file) bool { return modelStates.MatchString(f.name) })
	},
	gather: func(es []file) []candidate {
		return pick(es, func(f *file) bool { return f.dir && globalStep.MatchString(f.base()) })
	},
	order: func(l *look, dir string, es []file, cs []candidate) error {
		if err := byStep(l, dir, es, cs); err != nil {
			return err
		}
		tag, err := l.latest(es)
		if err != nil || tag == "" {
			return err
		}
		at := slices.IndexFunc(cs, func(c candidate) bool { return path.Base(c.name) == tag })
		for i := range cs[:max(at, 0)] { // a job resumes from latest, and it is written last
			if cs[i].flaw == nil {
				cs[i].flaw = &flaw{bridge.FlawMarker, "latest names " + tag}
			}
		}
		return nil
	},
	check: func(l *look, c *candidate) error {
		if err := l.fillIn(c); err != nil {
			return err
		}
		return l.checkStates(c.files)
	},
}

// latest reads the tag that the file latest names; empty: there is none.
func (l *look) latest(es []file) (string, error) {
	i := slices.IndexFunc(es, func(f file) bool { return f.base() == latestFile && !f.dir && !f.link })
	if i < 0 {
		return "", nil
	}
	text, err := l.read(es[i].name, 4096)
	if err != nil {
		if _, bad := errors.AsType[*flaw](err); bad {
			return "", nil
		}
		return "", err
	}
	return strings.TrimSpace(string(text)), nil
}

// checkLatest checks the folder that a file latest, inside of another
// framework's checkpoint, names.
func (l *look) checkLatest(files []file, latest *file) error {
	tag, err := l.latest([]file{*latest})
	if err != nil {
		return err
	}
	dir := path.Join(path.Dir(latest.name), tag)
	within := slices.DeleteFunc(slices.Clone(files), func(f file) bool { return !strings.HasPrefix(f.name, dir+"/") })
	if tag == "" || len(within) == 0 {
		return &flaw{bridge.FlawMarker, "latest names no folder"}
	}
	return l.checkStates(within)
}

// checkStates checks that the states of all ranks are there and whole.
func (l *look) checkStates(files []file) error {
	if err := l.allWhole(files, "model_states.pt", "optim_states.pt"); err != nil {
		return err
	}
	var model *file
	have := map[string]int64{} // optimizer shards, by rank of the model
	for i := range files {
		switch f := &files[i]; {
		case f.dir:
		case modelStates.MatchString(f.name):
			model = f
		default:
			if m := optimStates.FindStringSubmatch(f.name); m != nil {
				have[m[2]]++
			}
		}
	}
	if model == nil {
		return &flaw{bridge.FlawShard, "no model states"}
	}
	if len(have) == 0 {
		return nil // without ZeRO the optimizer is in the model's states
	}
	want, err := l.worldOf(model)
	if err != nil {
		return err
	}
	for rank, n := range have {
		if n < want {
			return &flaw{bridge.FlawShard, "optimizer states of mp_rank_" + rank}
		}
		want = max(want, n)
	}
	return nil
}

// worldOf reads how many data-parallel ranks there were; zero: it does not say.
func (l *look) worldOf(model *file) (int64, error) {
	c, err := l.open(model.name)
	if err != nil {
		return 0, err
	}
	defer c.close()
	z, err := openZip(c, model.base())
	if err != nil {
		return 0, err
	}
	for _, r := range z.File {
		if path.Base(r.Name) != "data.pkl" {
			continue
		}
		in, err := r.Open()
		if err != nil {
			return 0, &flaw{bridge.FlawTruncated, model.base()}
		}
		text, err := io.ReadAll(io.LimitReader(in, mostText))
		_ = in.Close()
		if err != nil {
			return 0, &flaw{bridge.FlawTruncated, model.base()}
		}
		return pickled(text, "dp_world_size"), nil
	}
	return 0, nil
}
