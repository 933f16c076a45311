package outboxtest

import "github.com/leat-go/leat/outbox/admin"

// Admin is implemented by a Subject whose sessions are driver.Holders: what an operator
// sees of the outbox, and does with it. If the Subject also is an admin.GroupManager,
// admin.Pauser, admin.Scheduler or admin.Searcher, that is checked, too.
type Admin = admin.Outbox
