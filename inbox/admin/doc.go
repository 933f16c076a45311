// Package admin has the words of operators about inboxes: what they see and what they
// ask for, the same for every store. An Inbox is all consumers of one store.
//
// What a store can do beyond it, it offers as further interfaces, which are found by a
// type assertion:
//
//	Auditor     tells who has changed what, and why
//	Retainer    tells what is remembered, and what is forgotten next; lowers the floor
//	Watermarks  lists and changes positions in logs
//
//	if auditor, ok := in.(admin.Auditor); ok {
//		entries, err := auditor.Audit(ctx, admin.AuditQuery{Consumer: "loyalty"})
//	}
//
// Whoever implements Inbox begins each call with Complete, which fills in
// the defaults and refuses what makes no sense. Package inboxtest checks a store.
//
// Stability: young, see docs/versions.md.
package admin
