package checkpoint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/checkpoint"
)

// shape is one folder of checkpoints and what is said of it.
type shape struct {
	framework string // empty: whatever is found
	files     []written
	want      string
}

// Each shape is what a framework leaves behind when it was stopped somewhere:
// the older complete one wins.
var shapes = map[string]shape{
	"torch, all complete": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/step-200.pt", saved("")}},
		"pytorch run/step-200.pt step=200 at=08:01\n",
	},
	"torch, the newer cut off": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/step-200.pt", saved("")[:300]}},
		"pytorch run/step-100.pt step=100 at=08:00\npassed run/step-200.pt step=200 truncated\n",
	},
	"torch, the newer lacks its last byte": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/step-200.pt", strings.TrimSuffix(saved(""), "\x00")}},
		"pytorch run/step-100.pt step=100 at=08:00\npassed run/step-200.pt step=200 truncated\n",
	},
	"torch, a zip inside of a cut-off zip": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/step-200.pt", saved("")[:200] + saved("")}},
		"pytorch run/step-100.pt step=100 at=08:00\npassed run/step-200.pt step=200 truncated\n",
	},
	"torch, the newer empty": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/step-200.pt", ""}},
		"pytorch run/step-100.pt step=100 at=08:00\npassed run/step-200.pt step=200 empty\n",
	},
	"torch, the newer not renamed yet": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/step-200.pt.tmp", saved("")}},
		"pytorch run/step-100.pt step=100 at=08:00\npassed run/step-200.pt.tmp step=200 temporary\n",
	},
	"torch before 1.6 shows no end": {
		"pytorch",
		[]written{{"run/model.pt", "\x80\x02\x8a\nl\xfc\x9c"}},
		"none\npassed run/model.pt step=-1 unknown\n",
	},
	"torch, none complete": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")[:99]}, {"run/step-200.pt", ""}},
		"none\npassed run/step-200.pt step=200 empty\npassed run/step-100.pt step=100 truncated\n",
	},
	"torch, a link to the best is passed for the best itself": {
		"pytorch",
		[]written{{"run/step-100.pt", saved("")}, {"run/best.pt -> step-100.pt", ""}},
		"pytorch run/step-100.pt step=100 at=08:00\npassed run/best.pt step=-1 foreign\n",
	},
	"nothing yet":   {"pytorch", []written{{"run/", ""}}, "none\n"},
	"no folder yet": {"pytorch", []written{{"other/", ""}}, "none\n"},

	"distributed, complete": {
		"pytorch",
		[]written{{"run/step_10/__0_0.distcp", "a"}, {"run/step_10/__1_0.distcp", "b"}, {"run/step_10/.metadata", distributed("__0_0.distcp", "__1_0.distcp")}},
		"pytorch run/step_10 step=10 at=08:02\n",
	},
	"distributed, a shard missing": {"pytorch", []written{
		{"run/step_10/__0_0.distcp", "a"},
		{"run/step_10/.metadata", distributed("__0_0.distcp")},
		{"run/step_20/__0_0.distcp", "a"},
		{"run/step_20/.metadata", distributed("__0_0.distcp", "__1_0.distcp")},
	}, "pytorch run/step_10 step=10 at=08:01\npassed run/step_20 step=20 shard\n"},
	"distributed, not committed": {"pytorch", []written{
		{"run/step_10/__0_0.distcp", "a"},
		{"run/step_10/.metadata", distributed("__0_0.distcp")},
		{"run/step_20/__0_0.distcp", "a"},
		{"run/step_20/.metadata.tmp", distributed("__0_0.distcp")},
	}, "pytorch run/step_10 step=10 at=08:01\npassed run/step_20 step=20 marker\n"},
	"distributed, being replaced": {"pytorch", []written{
		{"run/step_10/__0_0.distcp", "a"},
		{"run/step_10/.metadata", distributed("__0_0.distcp")},
		{"run/step_20/.metadata", distributed("__0_0.distcp")},
		{"run/step_20/__0_0.distcp", "a"},
	}, "pytorch run/step_10 step=10 at=08:01\npassed run/step_20 step=20 marker\n"},

	"lightning, the third of hpc_ckpt is no step": {
		"lightning",
		[]written{{"run/epoch=1-step=500.ckpt", saved("")}, {"run/hpc_ckpt_3.ckpt", saved("")}},
		"lightning run/hpc_ckpt_3.ckpt step=-1 at=08:01\n",
	},
	"lightning, killed while saving for requeue": {
		"lightning",
		[]written{{"run/epoch=1-step=500.ckpt", saved("")}, {"run/hpc_ckpt_3.ckpt", saved("")[:100]}},
		"lightning run/epoch=1-step=500.ckpt step=500 at=08:00\npassed run/hpc_ckpt_3.ckpt step=-1 truncated\n",
	},
	"lightning, sharded without its settings": {"lightning", []written{
		{"run/step=5.ckpt", saved("")}, {"run/step=9.ckpt/__0_0.distcp", "a"}, {"run/step=9.ckpt/.metadata", distributed("__0_0.distcp")},
	}, "lightning run/step=5.ckpt step=5 at=08:00\npassed run/step=9.ckpt step=9 shard\n"},

	"deepspeed, complete": {
		"deepspeed", append(zero("run/global_step10", 2, 2), written{"run/latest", "global_step10"}),
		"deepspeed run/global_step10 step=10 at=08:02\n",
	},
	"deepspeed, latest is not written yet": {
		"deepspeed", append(append(zero("run/global_step10", 2, 2), written{"run/latest", "global_step10"}), zero("run/global_step20", 2, 2)...),
		"deepspeed run/global_step10 step=10 at=08:02\npassed run/global_step20 step=20 marker\n",
	},
	"deepspeed, the last rank is missing": {
		"deepspeed", append(append(zero("run/global_step10", 2, 2), zero("run/global_step20", 2, 1)...), written{"run/latest", "global_step20"}),
		"deepspeed run/global_step10 step=10 at=08:02\npassed run/global_step20 step=20 shard\n",
	},
	"deepspeed, a rank cut off": {
		"deepspeed", append(append(zero("run/global_step10", 1, 1), zero("run/global_step20", 1, 1)...),
			written{"run/global_step20/zero_pp_rank_0_mp_rank_00_optim_states.pt", saved("")[:150]}, written{"run/latest", "global_step20"}),
		"deepspeed run/global_step10 step=10 at=08:01\npassed run/global_step20 step=20 truncated\n",
	},

	"hugging face, complete": {"huggingface", trainer("run/checkpoint-500", 500), "huggingface run/checkpoint-500 step=500 at=08:02\n"},
	"hugging face, the newer lacks its state": {
		"huggingface", append(trainer("run/checkpoint-500", 500), trainer("run/checkpoint-1000", 1000)[:2]...),
		"huggingface run/checkpoint-500 step=500 at=08:02\npassed run/checkpoint-1000 step=1000 marker\n",
	},
	"hugging face, the state is half written": {
		"huggingface", append(append(trainer("run/checkpoint-500", 500), trainer("run/checkpoint-1000", 1000)[:2]...), written{"run/checkpoint-1000/trainer_state.json", `{"global_st`}),
		"huggingface run/checkpoint-500 step=500 at=08:02\npassed run/checkpoint-1000 step=1000 truncated\n",
	},
	"hugging face, a state without a step": {
		"huggingface", append(trainer("run/checkpoint-500", 500), append(trainer("run/checkpoint-1000", 1000)[:2], written{"run/checkpoint-1000/trainer_state.json", `{"epoch": 2}`})...),
		"huggingface run/checkpoint-500 step=500 at=08:02\npassed run/checkpoint-1000 step=1000 truncated\n",
	},
	"hugging face, a shard of the weights is missing": {
		"huggingface", append(trainer("run/checkpoint-500", 500),
			written{"run/checkpoint-1000/model.safetensors.index.json", `{"weight_map":{"a":"model-00001-of-00002.safetensors","b":"model-00002-of-00002.safetensors"}}`},
			written{"run/checkpoint-1000/model-00001-of-00002.safetensors", tensors(9)}, written{"run/checkpoint-1000/trainer_state.json", state(1000)}),
		"huggingface run/checkpoint-500 step=500 at=08:02\npassed run/checkpoint-1000 step=1000 shard\n",
	},
	"hugging face, weights cut off": {
		"huggingface", append(trainer("run/checkpoint-500", 500),
			written{"run/checkpoint-1000/model.safetensors", tensors(99)[:len(tensors(99))-1]}, written{"run/checkpoint-1000/trainer_state.json", state(1000)}),
		"huggingface run/checkpoint-500 step=500 at=08:02\npassed run/checkpoint-1000 step=1000 truncated\n",
	},
	"hugging face resumes from the highest, not from the newest": {
		"huggingface", append(trainer("run/checkpoint-1000", 1000), trainer("run/checkpoint-500", 500)...),
		"huggingface run/checkpoint-1000 step=1000 at=08:02\n",
	},

	"tensorflow, complete": {
		"tensorflow",
		[]written{{"run/ckpt-1.data-00000-of-00001", "d"}, {"run/ckpt-1.index", table()}, {"run/checkpoint", `model_checkpoint_path: "ckpt-1"`}},
		"tensorflow run/ckpt-1 step=1 at=08:01\n",
	},
	"tensorflow, a shard missing": {"tensorflow", []written{
		{"run/ckpt-1.data-00000-of-00001", "d"},
		{"run/ckpt-1.index", table()},
		{"run/ckpt-2.data-00000-of-00002", "d"},
		{"run/ckpt-2.index", table()},
		{"run/checkpoint", `model_checkpoint_path: "ckpt-2"`},
	}, "tensorflow run/ckpt-1 step=1 at=08:01\npassed run/ckpt-2 step=2 shard\n"},
	"tensorflow, the index cut off": {"tensorflow", []written{
		{"run/ckpt-1.data-00000-of-00001", "d"}, {"run/ckpt-1.index", table()}, {"run/ckpt-2.data-00000-of-00001", "d"}, {"run/ckpt-2.index", table()[:70]},
	}, "tensorflow run/ckpt-1 step=1 at=08:01\npassed run/ckpt-2 step=2 truncated\n"},

	"marked files": {
		"generic",
		[]written{{"run/s-000100.state", "x"}, {"run/s-000100.state.done", ""}, {"run/s-000200.state", "x"}},
		"generic run/s-000100.state step=-1 at=08:01\npassed run/s-000200.state step=-1 marker\n",
	},
	"marked folders": {
		"generic",
		[]written{{"run/100/a", "x"}, {"run/100/DONE", ""}, {"run/200/a", "x"}},
		"generic run/100 step=100 at=08:01\npassed run/200 step=200 marker\n",
	},
	"a mark that is older than what it marks": {
		"generic",
		[]written{{"run/100/a", "x"}, {"run/100/DONE", ""}, {"run/200/DONE", ""}, {"run/200/a", "x"}},
		"generic run/100 step=100 at=08:01\npassed run/200 step=200 marker\n",
	},
	"a manifest gives step and sizes": {"generic", []written{
		{"run/a/w", "1234"},
		{"run/a/manifest.json", `{"step": 40, "files": {"w": 4}}`},
		{"run/b/w", "12"},
		{"run/b/manifest.json", `{"step": 50, "files": [{"name": "w", "size": 4}]}`},
		{"run/c/w", "1234"},
		{"run/c/manifest.json", `{"step": 60, "files": ["w", "v"]}`},
	}, "generic run/a step=40 at=08:01\npassed run/c step=60 shard\npassed run/b step=50 truncated\n"},
	"marked files in a known format are still looked at": {
		"generic",
		[]written{{"run/1/m.pt", saved("")}, {"run/1/DONE", ""}, {"run/2/m.pt", saved("")[:99]}, {"run/2/DONE", ""}},
		"generic run/1 step=1 at=08:01\npassed run/2 step=2 truncated\n",
	},

	"found by itself: deepspeed": {
		"", append(zero("run/global_step10", 1, 1), written{"run/latest", "global_step10"}, written{"run/log.pt", saved("")}),
		"deepspeed run/global_step10 step=10 at=08:01\n",
	},
	"found by itself: torch": {"", []written{{"run/step-7.pt", saved("")}, {"run/notes.txt", "x"}}, "pytorch run/step-7.pt step=7 at=08:00\n"},
}

// zero is a tag of DeepSpeed with the optimizer in shards: want ranks are said,
// have are there.
func zero(dir string, want, have int) []written {
	out := []written{{dir + "/mp_rank_00_model_states.pt", saved(world("dp_world_size", byte(want)))}}
	for i := range have {
		out = append(out, written{dir + "/zero_pp_rank_" + string(rune('0'+i)) + "_mp_rank_00_optim_states.pt", saved("")})
	}
	return out
}

func trainer(dir string, step int) []written {
	return []written{{dir + "/model.safetensors", tensors(40)}, {dir + "/optimizer.pt", saved("")}, {dir + "/trainer_state.json", state(step)}}
}

func TestTheNewestCompleteOneIsFound(t *testing.T) {
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			write(t, root, s.files...)
			got, err := finder(checkpoint.Options{}).Find(t.Context(), rule(s.framework, root), job("run"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(s.want, said(root, got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryFrameworkIsKnown(t *testing.T) {
	want := []string{"deepspeed", "generic", "huggingface", "lightning", "pytorch", "tensorflow"}
	if diff := cmp.Diff(want, checkpoint.Frameworks()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFigures holds that size, time of writing and time between two are said.
func TestFigures(t *testing.T) {
	root := t.TempDir()
	write(t, root, append(trainer("run/checkpoint-500", 500), trainer("run/checkpoint-1000", 1000)...)...)
	got, err := finder(checkpoint.Options{}).Find(t.Context(), rule("huggingface", root), job("run"))
	if err != nil || got.Newest == nil {
		t.Fatal(got, err)
	}
	want := bridge.Checkpoint{
		Job: "7", Step: 1000, At: day.Add(5 * 60e9), Place: root + "/run/checkpoint-1000", Framework: "huggingface",
		Bytes: int64(len(tensors(40)) + len(saved("")) + len(state(1000))), Every: 3 * 60e9, Save: 2 * 60e9,
	}
	if diff := cmp.Diff(want, *got.Newest); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTemporaryNames(t *testing.T) {
	for name, want := range map[string]bool{
		"step-100.pt": false, "step-100.pt.tmp": true, "step-100.pt.tmp.4711": true, "tmp-checkpoint-500": true, ".tmp_7": true, "step.part1": true,
		"ckpt-5_temp": true, "a.incomplete": true, "a~": true, "partner-7.pt": false, "ckpt-partner": false, "model-temp0.5.pt": false, ".nfs00001": true,
		"template-3.pt": false, "step-1.pt.lock": true,
	} {
		root := t.TempDir()
		write(t, root, written{"run/" + name, saved("")})
		got, err := finder(checkpoint.Options{}).Find(t.Context(), rule("pytorch", root), job("run"))
		must(t, err)
		if have := len(got.Passed) == 1 && got.Passed[0].Flaw == bridge.FlawTemporary; have != want {
			t.Errorf("%s: temporary %t, want %t", name, have, want)
		}
	}
}
