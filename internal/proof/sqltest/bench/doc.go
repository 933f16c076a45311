// Package bench compares the stores on database/sql with their alternatives, on servers of its own that
// wait for the disk at each commit. Contenders take turns. The table at the end has the ratios: by time,
// and by the processor time of client and server. The latter is what counts on a machine that is busy with
// other work.
//
//	go test ./bench -run '^$' -bench . -benchtime 1x -timeout 0 -rounds 9
package bench
