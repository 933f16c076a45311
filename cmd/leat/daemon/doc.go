// Package daemon runs relays and maintenance of outboxes and inboxes in one process. It reports whether the
// process is alive, whether it is ready, and the state of each part. The command leat run is this package
// with a configuration file; a program of your own can add sinks and sources that the file does not
// support. See docs/daemon.md.
//
// Stability: young, see docs/versions.md.
package daemon
