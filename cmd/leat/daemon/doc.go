// Package daemon runs relays and maintenance of outboxes and inboxes in one process, and
// tells whether it lives, whether it is ready and how each part is. The command leat run is
// this package with a file for its configuration; a program of your own gives it sinks and
// sources that the file does not know. See docs/daemon.md.
//
// Stability: young, see docs/versions.md.
package daemon
