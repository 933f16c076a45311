package dashboard

import "github.com/leat-go/leat/outbox/admin"

// action is a way to change something.
type action struct {
	// name is that of the route, such as parked:redrive, page where a form goes back to.
	name, page string
	role       Role
	// counts is set if it changes records, so that it needs a preview.
	counts bool
	// most is how many records a preview looks at, chunk how many one transaction changes.
	// Both are 0 for what has no limit: the first record of a key, an id, a group.
	most, chunk int
	// fields are those of a change that it heeds, separated by spaces.
	fields string
	do     doing
}

const (
	outboxMost, outboxChunk = 100_000, 10_000
	inboxMost, inboxChunk   = 10_000, 1_000
)

// What an action heeds, but for the store, the reason and the token.
const (
	ofKey        = "selection.topic selection.key "
	ofID         = "selection.id "
	ofFilter     = "selection.topics selection.fingerprint selection.before "
	outboxFields = "group selection.kind " + ofKey + ofID + ofFilter
	inboxFields  = "consumer " + ofKey + ofID + ofFilter
)

// actions are all ways to change something.
func actions() []action {
	return []action{
		{"parked:redrive", "parked", RoleOperator, true, outboxMost, outboxChunk, outboxFields, inOutbox(redrive(false))},
		{"parked:skip", "parked", RoleOperator, true, 0, 0, "group " + ofKey, inOutbox(skip)},
		{"parked:drop", "parked", RoleAdmin, true, outboxMost, outboxChunk, outboxFields, inOutbox(drop(false))},
		{"dead:redrive", "dead", RoleOperator, true, outboxMost, outboxChunk, outboxFields, inOutbox(redrive(true))},
		{"dead:drop", "dead", RoleAdmin, true, outboxMost, outboxChunk, outboxFields, inOutbox(drop(true))},
		{"delayed:cancel", "delayed", RoleAdmin, true, 0, 0, ofID, inAble("delayed messages", cancelDelayed)},
		{"groups:pause", "groups", RoleOperator, false, 0, 0, "group topics", inAble("pauses", pause(admin.Manager.Pause))},
		{"groups:resume", "groups", RoleOperator, false, 0, 0, "group topics", inAble("pauses", pause(admin.Manager.Resume))},
		{"groups:set-max-lag", "groups", RoleAdmin, false, 0, 0, "group max_lag_seconds", inAble("groups that can be changed", setMaxLag)},
		{"groups:remove", "groups", RoleAdmin, true, 0, 0, "group", inAble("groups that can be changed", removeGroup)},
		{"inboxes/parked:redrive", "inboxes", RoleOperator, true, inboxMost, inboxChunk, inboxFields, inInbox(inboxRedrive)},
		{"inboxes/parked:skip", "inboxes", RoleOperator, true, 0, 0, "consumer " + ofKey, inInbox(inboxSkip)},
		{"inboxes/parked:drop", "inboxes", RoleAdmin, true, inboxMost, inboxChunk, inboxFields, inInbox(inboxDrop)},
	}
}
