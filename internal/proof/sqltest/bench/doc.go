// Package bench compares the stores on database/sql with their alternatives, on its own servers
// that wait for the disk at each commit. Contenders take turns; the table at the end has the
// ratios: by time, and by the processor time of both ends, which counts on a machine that is busy
// with other work.
//
//	go test ./bench -run '^$' -bench . -benchtime 1x -timeout 0 -rounds 9
package bench
