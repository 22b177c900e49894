package say

import (
	"spillway.sh/spillway/bridge"
	"spillway.sh/spillway/bridge/desk"
)

func textsOf(l desk.Lang) *texts {
	if l == desk.Chinese {
		return &chinese
	}
	return &english
}

// texts are all that is said in words of ours; {slots} are filled with facts.
// Both languages have every one of them.
type texts struct {
	Stop, Gap, None, Nobody, More string

	Understood, Try, Read, Stranger, NotOurs string

	Rented, Boot, IdleIs, Keeps, Over, Short, ShortOver, Waits, InChannel, Repeated string
	Confirm, ConfirmButton, RentIt                                                  string
	TellMe, Have, SizeFor, WhatMachines, HowLong, WhichProject                      string
	OnMachines, Spot, OnDemand                                                      string

	StandsUse, StandsUseNot                                                      string
	Stands, StandsUntil, StandsIdle, StandsWaiting, StandsEnded, NothingForJob   string
	Extended, ExtendWaits, ExtendAsked, ExtendedBefore, ExtendHow, Extends       string
	Cancelled, CancelledBefore, NoneSuch, WhichRental, Snoozed, SnoozeFull, Kept string
	Released, ReleasedBack, ReleasedBefore, ReleasingBefore, NeverRented         string
	ReleasedAt, Draining, DrainingJobs, NothingMine                              string
	NoQuestions, DenyHow                                                         string
	Spent, SpentOf, Forecast, NoForecast, NotFinal, NoDays                       string
	KeptUntil, KeptBefore, KeptToEnd                                             string
	Room, NoRoom, NoBudget, Above, Holding, NothingHeld                          string
	Clouds, NoClouds, Cloud, CloudPool                                           string
	Prices, NoPrices, Price, PerGPU, SoldOut, OldPrice                           string
	WhoAmI, WhoSpends, WhoApproves, Frozen, FrozenBefore, Thawed, ThawedBefore   string
	TellApproved, TellDenied, TellBecause, TellLapsed, TellReady, TellSettled    string
	ReportFiles, ReportSent                                                      string
	TellExtended, TellNotExtended                                                string

	States map[bridge.State]string
	Roles  map[string]string
}

var english = texts{
	Stop: ".", Gap: " ", None: "none", Nobody: "nobody is set in the policy", More: "{n} more are not shown.",

	Understood: "Understood: {words}.", Try: "Try: {try}", Read: "(read “{typed}” as {as})",
	Stranger: "Nothing was done. {why}",
	NotOurs:  "This button is not one of ours, or of an older installation. Nothing was done. Ask with /rent or /release.",

	Rented: "{id} · {what} {market}, {for}, {place} for {project}. Expected {expected}, at most {most} (held: {life}, start and end included). {keeps}. Starting now; you hear from me when it is ready{boot}.{idle}",
	Boot:   " (about {for})", IdleIs: "Idle for {for} = released.",
	Keeps: "{project} keeps {left} of {limit} in {period}", Over: "{project} is {over} over {limit} in {period}, as approved",
	Short:         "{project} has {left} left, so {over} over",
	ShortOver:     "{project} is {gone} over already, {over} with this",
	Waits:         "{id} needs approval. Expected {expected} ({market}), at most {most}; {left}. Asked: {who}. Open until {until} ({for}). Nothing is held meanwhile.",
	InChannel:     "The question is in {channel}.",
	Repeated:      "You just asked that: it is {id}, {state}. For a second one: {try}",
	Confirm:       "This holds at most {most}, expected {expected}: {what} {market}, {for}, {place} for {project}. {keeps}. Nothing is rented yet; the price is good until {until}.",
	ConfirmButton: "Rent, at most {most}", RentIt: "Rent the first: {try}",
	TellMe: "Tell me what, how long, for which project. Example: /rent 8xh100 for 6h spot project nlp. Or: /rent help",
	Have:   "I have {words}. {question} Try: {try}", SizeFor: "{what} for {project}",
	WhatMachines: "Which machines, and how many?", HowLong: "For how long?", WhichProject: "Which project pays? You spend from {projects}.",
	OnMachines: "{what} on {n} machines", Spot: "spot", OnDemand: "on demand",

	Stands:    "{id} {state}, {ran} of {of}, {place} ({market}). So far {cost}, at most {most}.",
	StandsUse: "GPU use {n} %.", StandsUseNot: "GPU use not known.",
	StandsUntil: "It ends at {at}.", StandsIdle: "Idle for {for}.",
	StandsWaiting:  "{id} waits for a yes until {until}: at most {most}. Nothing is held.",
	StandsEnded:    "{id} {state} at {at}. It cost {cost}.",
	NothingForJob:  "Nothing is rented for job {job}. Try: /rent job {job}",
	Extended:       "+{by} for {id}. Expected +{expected}, at most +{more} (held on top). {keeps}. It ends at {until} now.",
	ExtendWaits:    "+{by} for {id} = expected +{expected}, at most +{more}; {left}: sent for approval as {question}. Asked: {who}. If nobody answers, {id} still ends at {was}.",
	ExtendAsked:    "{question} asks for more time for {id} already, until {until}. To take it back: /rent cancel {question}",
	ExtendedBefore: "You just extended {id} by that: it ends at {until}. To do it once more: {try}",
	ExtendHow:      "By how long? Try: /rent extend {id} 2h",
	Extends:        "More time for {id}: its end stays as it is until this is approved.",
	Cancelled:      "{id} is taken back. Nothing was rented or held.", CancelledBefore: "{id} was closed at {at} already. Nothing changed.",
	NoneSuch: "Nothing of yours can be meant with {verb}. Try: /rent ls", WhichRental: "Which one? For example: {try}",
	Snoozed: "I will remind you of {id} at {at}.", SnoozeFull: "You have {n} reminders already. Wait for one of them.",
	Kept:      "{id} stays. Policy still gives it back when it is idle for long, and at its end.",
	KeptUntil: "{id} is kept until {until}, also without a job.", KeptBefore: "{id} is kept until {until} already. Nothing changed.",
	KeptToEnd: "{id} is kept until {until}, its end. For longer: /rent extend {id} 2h",
	Released:  "{id} is released by {who}. It cost {cost} so far (final when billed).", ReleasedBack: "Up to {rest} back to {project}.",
	ReleasedBefore: "{id} was already released at {at} and cost {cost}. Nothing running.", ReleasingBefore: "{id} is going back already. Nothing changed.",
	NeverRented: "{id} was never rented.", ReleasedAt: "{id} goes back at {release}, when its jobs have ended.",
	Draining: "{id} goes back now: no job runs on it. It cost {cost} so far (final when billed).", DrainingJobs: "{id} goes back when its jobs have ended: {jobs}. At once instead: /release {id} now",
	NothingMine: "Nothing is rented in your name.",
	NoQuestions: "Nothing waits for your decision.", DenyHow: "Say why: /rent deny {id} because …",

	Spent: "{project}, {from} to {to} ({zone}): posted {posted}, held {held}", SpentOf: ", left {left} of {limit} ({percent} % used)",
	Forecast:   "Forecast to the end of {to}: {likely} (range {low} to {high}).",
	NoForecast: "No forecast: not enough data ({seen} of 14 days).",
	NotFinal:   "Not final yet: {open} of the posted is of rentals that still run.", NoDays: "No day of it cost anything.",
	ReportFiles: "The figures of each part.", ReportSent: "The whole report is in your messages with me.",
	Room: "{project} can rent for {room} at once.", NoRoom: "{project} has nothing left: anything needs approval.", NoBudget: "No budget covers {project}; without one nothing is rented.",
	Above: "Above {account}: {who}.", Holding: "Held by: {rentals}.", NothingHeld: "Nothing is held.",
	Clouds: "Clouds at {at}:", NoClouds: "No cloud is configured.", Cloud: "{name}: {state}; {ready} of {pools} pools ready", CloudPool: "{pool}: {rate} an hour, {state}",
	Prices: "Prices at {at}, cheapest first:", NoPrices: "Nothing on offer has it.", Price: "{what} ({type}) {market}, {place}: {rate} an hour",
	PerGPU: ", {rate} for each GPU", SoldOut: ", sold out", OldPrice: ", old price",
	WhoAmI: "You are {name} on the cluster ({roles}). Slack: {slack}. Your time zone: {zone}.", WhoSpends: "You rent for: {projects}.", WhoApproves: "You approve for: {projects}.",
	Frozen: "Frozen: nothing new is rented. Releases go on. Undo with /rent thaw", FrozenBefore: "It was frozen already.",
	Thawed: "Thawed: spending goes on, within policy and budget.", ThawedBefore: "It was not frozen.",

	TellApproved: "{id} was approved by {who}: at most {most} is held, and its machines are being rented.",
	TellDenied:   "{id} was denied by {who}.{because} Nothing was held.", TellBecause: " Reason: {text}",
	TellLapsed:   "{id} lapsed: nobody answered in time. Ask again: /rent again {id}",
	TellReady:    "{id} is ready: its machines have joined. It ends at {until}.",
	TellSettled:  "{id} is given back and cost {cost}. {rest} of its hold is back with {project}.",
	TellExtended: "More time for {extends} was approved by {who}: at most {most} more is held.", TellNotExtended: "More time for {extends} was not approved.{because} It still ends when it did.",

	States: map[bridge.State]string{
		bridge.StateWaiting: "waiting for a yes", bridge.StateLaunching: "starting", bridge.StateJoining: "starting", bridge.StateAdmitted: "running",
		bridge.StateDraining: "draining", bridge.StateReleasing: "going back", bridge.StateSettled: "released", bridge.StateClosed: "closed",
	},
	Roles: map[string]string{"member": "member", "approver": "approver", "admin": "admin"},
}
