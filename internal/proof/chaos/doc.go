// Package chaos runs leat on real servers and injects faults. It kills processes, stops them past
// their leases, cuts their connections, crashes PostgreSQL, Kafka and Redis, and makes errors,
// panics and exits at the failure points in the code. At the end the faults stop and the system
// comes to rest, and a checker judges the histories that all sides have kept.
//
// The processes are those of package roles, this program executed again. The driver owns the
// servers, and a proxy in front of each. It records every fault that it injects, with the work that
// was in flight and the observed consequence; a fault counts only if it has both.
package chaos
