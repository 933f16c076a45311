// Package chaos runs leat on real servers and does to it what can be done to it: it
// kills processes, stops them past their leases, cuts their connections, crashes
// PostgreSQL, Kafka and Redis, and makes errors, panics and exits at the failure points
// inside. In the end everything is left to come to rest, and a checker judges the
// histories that all sides have kept.
//
// What runs are the processes of package roles, this program executed again. The driver
// owns the servers, and a proxy in front of each. Every fault that it injects it writes
// down, with the work that was in flight and what was seen to follow; only those that
// have both count.
package chaos
