package invariant

// always are judged at every sight, in this order; atTheEnd when all is over.
var (
	always = []rule{
		{"I1", (*Checker).everyMachineIsKnown},
		{"I2", (*Checker).nothingIsRentedTwice},
		{"I3", (*Checker).noMoreThanApproved},
		{"I4", (*Checker).intentComesBeforeCreate},
		{"I5", (*Checker).everyMachineHasItsEnd},
		{"I6", (*Checker).settledOnlyWhenGone},
		{"I7", (*Checker).othersAreLeftAlone},
		{"I8", (*Checker).nothingEndsOnABadView},
		{"I9", (*Checker).booksBalance},
		{"I10", (*Checker).nothingBeyondTheBudgets},
		{"I11", (*Checker).oneHoldWhileHeld},
		{"I12", (*Checker).costIsMetered},
		{"I13", (*Checker).replayGivesTheBooks},
		{"I14", (*Checker).noJobIsLost},
		{"I15", (*Checker).noJobRunsTwice},
		{"I16", (*Checker).nothingIsTakenFromItsJob},
		{"I17", (*Checker).drainComesBeforeTerminate},
		{"I18", (*Checker).theQueueIsLeftAlone},
		{"I19", (*Checker).oneDecisionPerQuestion},
		{"I20", (*Checker).onlyWhoMayDecides},
		{"I21", (*Checker).expiredIsNeverApproved},
		{"I22", (*Checker).peopleAreToldWithTheChange},
		{"I23", (*Checker).statesFollowTheTable},
		{"I24", (*Checker).onlyTheNewestEpochWrites},
		{"I25", (*Checker).restartsConverge},
		{"I26", (*Checker).aQuietSystemWritesNothing},
		{"I27", (*Checker).garbageChangesNothing},
		{"I28", (*Checker).secretsStayInside},
	}
	atTheEnd = []rule{
		{"I14", (*Checker).noJobIsLost},
		{"I25", (*Checker).allIsOver},
	}
)
