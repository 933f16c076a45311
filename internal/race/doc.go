// Package race shows tests that count allocations whether the race detector is compiled in: it
// allocates itself, and empties pools at random.
package race
