package mutant

// failover: what keeps a no of one pool from being a no of all, or of being
// asked for again and again.
var failover = []mutant{
	{
		"a word that nobody knows holds its job for as long as a launch may take", 3,
		[]edit{{"bridge/engine/puzzle.go", "\tp.times++\n", ""}},
		in(engines, "TestC_16_WordsNobodyKnowsAreTakenElsewhere"),
	},
	{
		"a doubtful launch is left for another before a list has shown nothing of it", 3,
		[]edit{{"bridge/engine/puzzle.go", "list == nil || !list.Complete || !list.At.After(p.at)", "list != nil && !list.At.After(p.at)"}},
		in(engines, "TestC_16_DoubtHoldsTheNextLaunchBackForATime"),
	},
	{
		"a quota is asked for in each zone of its region", 12,
		[]edit{{"bridge/engine/pool.go", "\tcase kind == bridge.CloudQuota:\n\t\treturn bridge.ReachZones\n", ""}},
		in(engines, "TestC_19_QuotaOfFiveRegionsIsNoneOfTheSixth"),
	},
	{
		"rights that are missing are asked for in each pool", 12,
		[]edit{{"bridge/engine/pool.go", "\treturn bridge.ReachRegion\n", "\treturn bridge.ReachPool\n"}},
		in(engines, "TestDeniedCloudIsSetAsideAndToldOnce"),
	},
	{
		"one region that is denied twice is the whole cloud", 12,
		[]edit{{"bridge/engine/pool.go", " && h.Pool.Region != p.Region", ""}},
		in(engines, "TestRegionThatIsDeniedTwiceIsNoWholeCloud"),
	},
	{
		"a region that sends us away is told each time", 12,
		[]edit{{"bridge/engine/pool.go", "if about.Type == \"\" && !known {", "if about.Type == \"\" && (known || !known) {"}},
		in(engines, "TestDeniedCloudIsSetAsideAndToldOnce", "TestRegionThatIsDeniedTwiceIsNoWholeCloud"),
	},
	{
		"a pool that refuses again and again rests no longer for it", 12,
		[]edit{{"bridge/rested.go", "\th.Failures++\n", ""}},
		in(engines, "TestC_25_PoolThatComesAndGoesIsAskedSeldom"),
	},
	{
		"launches in a minute have no end", 12,
		[]edit{{"bridge/engine/reserve.go", ">= e.limits.Launches {", ">= e.limits.Launches+1000000 {"}},
		in(engines, "TestC_25_LaunchesInAMinuteAreCapped"),
	},
	{
		"a machine that goes before its notice is over takes its job's replacement with it", 7,
		[]edit{{"bridge/engine/decide.go", "if under && !known {", "if under && !known && run.Job == \"\" {"}},
		in(engines, "TestC_F14_MachineThatGoesBeforeItsTimeLeavesItsReplacementAlone"),
	},
}
