// Package admin defines what operators can see and change of inboxes, in the same way for every
// store. An Inbox is all consumers of one store.
//
// A store offers optional functions as further interfaces, which are found by a type assertion:
//
//	Auditor     returns who has changed what, and why
//	Retainer    returns what is remembered, and what is forgotten next; lowers the floor
//	Watermarks  lists and changes positions in logs
//
//	if auditor, ok := in.(admin.Auditor); ok {
//		entries, err := auditor.Audit(ctx, admin.AuditQuery{Consumer: "loyalty"})
//	}
//
// An implementation of Inbox begins each call with Complete, which fills in the defaults and
// refuses invalid requests. Package inboxtest checks a store.
//
// Stability: young, see docs/versions.md.
package admin
