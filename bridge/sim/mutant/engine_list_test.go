package mutant

// intents: rules 1 to 3. What is stored before a create, and what its end means.
var intents = []mutant{
	{
		"a create is sent before its hold and intent are stored", 1,
		[]edit{{
			"bridge/engine/reserve.go",
			"\tsaved, err := e.store.Reserve(ctx, r, e.o.Budgets, n) // I4: before any create\n",
			"\tif _, err := e.clouds[r.Pool.Cloud].Create(ctx, r.Launch); err != nil {\n\t\treturn err\n\t}\n\tsaved, err := e.store.Reserve(ctx, r, e.o.Budgets, n)\n",
		}},
		in(engines, "TestQueueOverflowsAndDrainsAgain"),
	},
	{
		"an approved create is sent before its parameters are stored", 1,
		[]edit{{
			"bridge/engine/provision.go",
			"\tif err := e.save(ctx, c, r); err != nil {\n\t\treturn err\n\t}\n\treturn e.create(ctx, c, r)\n",
			"\treturn errors.Join(e.create(ctx, c, r), e.save(ctx, c, r))\n",
		}},
		in(engines, "TestQuestionHoldsNothingAndAYesBuys"),
	},
	{
		"a token does not tell attempts apart", 1,
		[]edit{{"bridge/id.go", "strconv.Itoa(l.Attempt), strconv.Itoa(l.Count)", "strconv.Itoa(l.Count)"}},
		in(domain, "TestTokenDependsOnEverything"),
	},
	{
		"a token is drawn anew for every call", 1,
		[]edit{{
			"bridge/engine/provision.go",
			"\tlaunch := r.Launch\n\te.gauges",
			"\tlaunch := r.Launch\n\tlaunch.Token = fmt.Sprintf(\"%.20s-%d\", launch.Token, e.o.Clock().UnixNano())\n\te.gauges",
		}},
		in(engines, "TestC_F08_AnswerLostAfterTheEffectMakesOneMachine", "TestC_F16_UnknownBeforeTheEffectIsTriedAgainWithTheSameToken"),
	},
	{
		"a machine does not carry the rental it is of", 2,
		[]edit{{"bridge/tags.go", "TagRental: string(r.ID), ", ""}},
		in(engines, "TestQueueOverflowsAndDrainsAgain"),
	},
	{
		"a machine does not carry its store", 2,
		[]edit{{"bridge/tags.go", "TagStore: storeID, ", ""}},
		in(engines, "TestQueueOverflowsAndDrainsAgain"),
	},
	{
		"an unknown outcome is taken for a refusal", 3,
		[]edit{{
			"bridge/engine/provision.go",
			"\tcase kind.Refused():\n\t\treturn e.refused(ctx, c, r, res.err)\n",
			"\tcase kind != bridge.CloudThrottled:\n\t\treturn e.refused(ctx, c, r, res.err)\n",
		}},
		in(engines, "TestC_F08_AnswerLostAfterTheEffectMakesOneMachine", "TestC_F16_UnknownBeforeTheEffectIsTriedAgainWithTheSameToken"),
	},
	{
		"a refusal after a doubt proves that nothing was made", 3,
		[]edit{{
			"bridge/engine/provision.go",
			"\tif !e.memory.doubt[r.ID] {\n\t\tfor i := range r.Machines {",
			"\tif r.ID != \"\" {\n\t\tfor i := range r.Machines {",
		}},
		in(engines, "TestC_F09_RefusalAfterDoubtProvesNothing"),
	},
	{
		"a create is proved without effect by lists of the same minute", 3,
		[]edit{{
			"bridge/engine/sweep.go",
			"\treturn !c.gentle && list.At.Sub(sent) >= e.limits.OrphanAge\n",
			"\treturn !c.gentle && list.At.After(sent)\n",
		}},
		in(engines, "TestC_F07_MachineThatIsListedLateIsStillInTheBooks"),
	},
}

// views: rule 4. What may be believed of what was seen.
var views = []mutant{
	{
		"a partial list proves absence", 4,
		[]edit{{
			"bridge/engine/sweep.go",
			"\t\tif list.Complete {\n\t\t\tnews = append(news, e.absent(c, r, list)...)\n\t\t}\n",
			"\t\tnews = append(news, e.absent(c, r, list)...)\n",
		}},
		in(engines, "TestINV_I8_PartialListsJudgeNothingAbsent"),
	},
	{
		"pages that did not arrive are taken for empty", 4,
		[]edit{{"bridge/engine/observe.go", "all.Complete = all.Complete && l.Complete && err == nil", "all.Complete = all.Complete || l.Complete || err == nil"}},
		in(engines, "TestINV_I8_PartialListsJudgeNothingAbsent"),
	},
	{
		"two lists a moment apart prove absence", 4,
		[]edit{{"bridge/engine/sweep.go", "\t\tif list.At.Sub(m.AbsentAt) < e.limits.AbsentGap {", "\t\tif list.At.Before(m.AbsentAt) {"}},
		in(engines, "TestC_F26_MachineMissingFromListsForAWhileIsNotLost"),
	},
	{
		"one list proves absence", 4,
		[]edit{{
			"bridge/engine/sweep.go",
			"\t\t\tm.Absent, m.AbsentAt = 1, list.At\n\t\t\tcontinue\n\t\t}\n\t\tif list.At.Sub(m.AbsentAt) < e.limits.AbsentGap {\n\t\t\tcontinue\n\t\t}\n",
			"\t\t\tm.Absent, m.AbsentAt = 1, list.At\n\t\t}\n",
		}},
		in(engines, "TestC_F26_MachineMissingFromListsForAWhileIsNotLost"),
	},
	{
		"an old view of a queue is acted on", 4,
		[]edit{{"bridge/engine/cycle.go", "\treturn q, !c.snap.Stale(&q.Queue)\n", "\treturn q, true\n"}},
		in(engines, "TestStaleQueueBuysAndEndsNothing", "TestINV_I8_AskedReleaseWaitsForAViewThatCanBeTrusted"),
	},
	{
		"a list from before the end settles a rental", 4,
		[]edit{{"bridge/engine/settle.go", "\tif !ok || !list.Complete || !list.At.After(judged) {\n", "\tif !ok || judged.IsZero() {\n"}},
		in(engines, "TestINV_I6_ListThatWasAskedBeforeTheEndSettlesNothing"),
	},
	{
		"a rental is settled before its cloud says gone", 4,
		[]edit{{
			"bridge/engine/settle.go",
			"\t\tif len(r.Live()) > 0 || e.calls.busy(\"create/\"+string(r.ID)) || !e.confirmed(c, &r) {\n",
			"\t\tif e.calls.busy(\"create/\" + string(r.ID)) {\n",
		}},
		in(engines, "TestC_F01_TerminateIsRepeatedUntilTheCloudSaysGone", "TestINV_I6_StaleListSettlesNothing"),
	},
}

// strangers: rules 5 and 12. Machines that the store does not know.
var strangers = []mutant{
	{
		"an orphan may be young", 5,
		[]edit{{"bridge/engine/orphan.go", "if s.Lists >= 2 && c.now.Sub(born) > e.limits.OrphanAge {", "if s.Lists >= 2 {"}},
		in(engines, "TestC_F02_OrphanIsEndedWhenOldAndSeenTwice"),
	},
	{
		"an orphan is ended after one list", 5,
		[]edit{{"bridge/engine/orphan.go", "if s.Lists >= 2 && c.now.Sub(born) > e.limits.OrphanAge {", "if c.now.Sub(born) > e.limits.OrphanAge {"}},
		in(engines, "TestC_F27_OldStrangerIsEndedAtTheSecondListOnly"),
	},
	{
		"orphans are judged by partial lists", 5,
		[]edit{{"bridge/engine/orphan.go", "\tif !list.Complete || len(found) == 0 && ", "\tif len(found) == 0 && "}},
		in(engines, "TestINV_I8_PartialListsMakeNoOrphan"),
	},
	{
		"machines of another store are orphans", 5,
		[]edit{{"bridge/engine/orphan.go", "\t\tcase in.Tags[bridge.TagStore] == e.store.StoreID():\n", "\t\tcase in.Tags[bridge.TagStore] != \"\":\n"}},
		in(engines, "TestINV_I1_ForeignStoreOpensTheBreakerAndTouchesNothing"),
	},
	{
		"machines of another store stop no money", 12,
		[]edit{{"bridge/engine/orphan.go", "\t\t\tm.Protected, m.ProtectedAt = cause, noTime\n", "\t\t\tm.ProtectedAt = noTime\n"}},
		in(engines, "TestINV_I1_ForeignStoreOpensTheBreakerAndTouchesNothing"),
	},
	{
		"machines without our tag are ours", 5,
		[]edit{{"bridge/engine/orphan.go", "\t\tcase in.Tags[bridge.TagStore] == e.store.StoreID():\n", "\t\tcase in.Tags[bridge.TagStore] == e.store.StoreID(), in.Tags[bridge.TagStore] == \"\":\n"}},
		in(engines, "TestINV_I7_MachinesWithoutOurTagAreNotOurs"),
	},
	{
		"an orphan is ended with the job that runs on it", 5,
		[]edit{{
			"bridge/engine/orphan.go",
			"found); r != nil && len(r.Running) > 0 {",
			"found); r != nil && len(r.Running) < 0 {",
		}},
		in(engines, "TestC_F27_OrphanWithAJobIsAdoptedNotEnded"),
	},
	{
		"an orphan is ended while its scheduler cannot be read", 5,
		[]edit{{
			"bridge/engine/orphan.go",
			"\tif _, fresh := c.queue(in.Tags[bridge.TagCluster]); !fresh {\n\t\treturn nil\n\t}\n",
			"",
		}},
		in(engines, "TestC_F27_UnreadableSchedulerEndsNoOrphan"),
	},
	{
		"launches that never join stop no money", 12,
		[]edit{{"bridge/engine/breaker.go", "\tcase failures >= e.limits.Fails:\n", "\tcase failures < 0:\n"}},
		in(engines, "TestBreakerOpensOnLaunchesThatNeverJoinAndCoolsDown"),
	},
	{
		"machines that vanish at once stop no money", 12,
		[]edit{{"bridge/engine/breaker.go", "\tcase c.taken > e.limits.VanishMost && ", "\tcase c.taken < 0 && "}},
		in(engines, "TestBreakerOpensWhenManyMachinesVanishAtOnce"),
	},
	{
		"an open breaker lets creates through", 12,
		[]edit{
			{"bridge/engine/reserve.go", "\tif c.dark || c.marks.Frozen || c.marks.Protected != \"\" || ", "\tif c.dark || c.marks.Frozen || "},
			{"bridge/engine/provision.go", "\tif c.dark || c.marks.Frozen || c.marks.Protected != \"\" || !e.lookedAround() || e.calls", "\tif c.dark || c.marks.Frozen || !e.lookedAround() || e.calls"},
		},
		in(engines, "TestFreezeStopsTheNextTryOfACallToo"),
	},
}

// ends: rules 6 and 8, and what ends must not do to jobs.
var ends = []mutant{
	{
		"a machine is not ended at its time", 6,
		[]edit{{"bridge/engine/release.go", "\t\tif r.Launch.Token != \"\" && c.over(r.Expires) {\n", "\t\tif r.Launch.Token != \"\" && c.over(noTime) {\n"}},
		in(engines, "TestReleaseNeedsNoSchedulerPastTheEnd", "TestJobWithoutALimitIsWarnedBeforeItsMachinesEnd"),
	},
	{
		"a machine does not end by itself", 6,
		[]edit{ // and looks again as usual: without a pause, time would stand still
			{"bridge/node/life.go", "\tcase now >= end:\n", "\tcase now >= end && ended:\n"},
			{"bridge/node/life.go", "\treturn min(end-now, lifeTick), \"\"\n", "\treturn lifeTick, \"\"\n"},
		},
		in(nodes, "TestTheMachineIsOffAtItsEndWhateverRuns"),
	},
	{
		"a machine that hears no bridge ends under its job", 6,
		[]edit{{"bridge/node/life.go", "\tcase now-heard >= l.stale && !l.busy():\n", "\tcase now-heard >= l.stale:\n"}},
		in(nodes, "TestABridgeThatIsAwayEndsOnlyWhatIsIdle"),
	},
	{
		"a release waits for the store", 8,
		[]edit{{"bridge/engine/release.go", "\tif len(ids) > 0 && !e.calls.busy(key) && ", "\tif len(ids) > 0 && !c.dark && !e.calls.busy(key) && "}},
		in(engines, "TestFullDiskStopsCreatesAndNoRelease"),
	},
	{
		"a release waits until money flows", 8,
		[]edit{{"bridge/engine/release.go", "\tif len(ids) > 0 && !e.calls.busy(key) && ", "\tif len(ids) > 0 && !c.marks.Frozen && !e.calls.busy(key) && "}},
		in(engines, "TestFreezeStopsNewMoneyAtOnceAndNothingElse"),
	},
	{
		"a release past the end waits for the scheduler", 8,
		[]edit{{
			"bridge/engine/release.go",
			"\t\tif r.Launch.Token != \"\" && c.over(r.Expires) {\n",
			"\t\tif _, fresh := c.queue(r.Cluster); fresh && r.Launch.Token != \"\" && c.over(r.Expires) {\n",
		}},
		in(engines, "TestReleaseNeedsNoSchedulerPastTheEnd"),
	},
	{
		"a machine is asked to end only once", 8,
		[]edit{{"bridge/engine/release.go", "\t\te.memory.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, 0)\n", "\t\te.memory.rest(key, c.now, e.limits.Retry, e.limits.RetryMost, 1<<62)\n"}},
		in(engines, "TestC_F01_TerminateIsRepeatedUntilTheCloudSaysGone"),
	},
	{
		"nodes are not drained before they go", 8,
		[]edit{{"bridge/engine/release.go", "\tif len(undrained) > 0 {\n", "\tif len(undrained) < 0 {\n"}},
		in(engines, "TestQueueOverflowsAndDrainsAgain"),
	},
	{
		"a job is requeued again while it is being requeued", 8,
		[]edit{{"bridge/engine/reclaim.go", "\t} else if e.memory.requeued[jobKey(r.Cluster, run.Job)] {\n\t\treturn nil\n\t}\n", "\t}\n"}},
		in(engines, "TestC_F14_NoticeDrainsRequeuesAndReplacesWithinItsTimes", "TestS_F73_JobThatRequeuesItselfIsRequeuedOnce"),
	},
	{
		"a reclaim is counted after its requeue", 8,
		[]edit{{
			"bridge/engine/reclaim.go",
			"\tif !run.Restartable {\n\t\treturn e.warn(",
			"\tif run.Restartable && why == bridge.ReasonNotice {\n\t\tif err := e.write(ctx, r.Cluster, func(ctx context.Context, s Scheduler) error { return s.Requeue(ctx, run.Job) }); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n\tif !run.Restartable {\n\t\treturn e.warn(",
		}},
		in(engines, "TestC_F14_NoticeDrainsRequeuesAndReplacesWithinItsTimes"),
	},
}

// times: rule 11, and what stands still while nothing can be trusted.
var times = []mutant{
	{
		"a leap of the clock ends machines at a glance", 11,
		[]edit{{"bridge/engine/clock.go", "\treturn !c.gentle && !limit.IsZero() && ", "\treturn !limit.IsZero() && "}},
		in(engines, "TestClockLeapEndsNothingAtAGlance"),
	},
	{
		"the time of before a restart is forgotten", 11,
		[]edit{{"bridge/engine/clock.go", "\tif high.After(c.now) {\n", "\tif high.After(c.now) && high.IsZero() {\n"}},
		in(engines, "TestClockThatStepsBackIsNotBelieved"),
	},
	{
		"a clock that steps back is believed", 11,
		[]edit{{"bridge/engine/clock.go", "\tif now.Before(m.last) {\n", "\tif now.Before(m.last) && begun.IsZero() {\n"}},
		in(engines, "TestClockThatStepsBackIsNotBelieved"),
	},
	{
		"time stands still after a step back of the clock", 11,
		[]edit{{"bridge/engine/clock.go", "m.last.Add(max(begun.Sub(m.begun), 0) / 2)", "m.last"}},
		in(engines, "TestClockThatStepsBackIsNotBelieved"),
	},
	{
		"a clock that steps back opens a budget's last period", 11,
		[]edit{{"bridge/store/write.go", "\tif last := time.Unix(0, latest).UTC(); last.After(w.now) {\n", "\tif last := time.Unix(0, latest).UTC(); last.IsZero() {\n"}},
		in(stores, "TestStepsBackOfTheClockFreeNothing"),
	},
	{
		"creates are sent while the store cannot be written", 1,
		[]edit{
			{"bridge/engine/provision.go", "\tif c.dark || c.marks.Frozen || c.marks.Protected != \"\" || !e.lookedAround() || e.calls", "\tif c.marks.Frozen || c.marks.Protected != \"\" || !e.lookedAround() || e.calls"},
			{"bridge/engine/provision.go", "\t\tif err := e.store.Tell(ctx, c.tell(bridge.NewsCreating, r)); err != nil {\n\t\t\tc.dark = true\n\t\t\treturn fmt.Errorf(\"tell of create for %s: %w\", r.ID, err)\n\t\t}\n", "\t\t_ = e.store.Tell(ctx, c.tell(bridge.NewsCreating, r))\n"},
		},
		in(engines, "TestFreezeStopsTheNextTryOfACallToo", "TestFullDiskStopsCreatesAndNoRelease"),
	},
	{
		"frozen money still creates", 12,
		[]edit{{"bridge/engine/provision.go", "\tif c.dark || c.marks.Frozen || c.marks.Protected != \"\" || !e.lookedAround() || e.calls", "\tif c.dark || c.marks.Protected != \"\" || !e.lookedAround() || e.calls"}},
		in(engines, "TestFreezeStopsTheNextTryOfACallToo", "TestFreezeStopsNewMoneyAtOnceAndNothingElse"),
	},
}
