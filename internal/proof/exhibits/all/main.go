// Command all plays all exhibits and prints the findings as a table.
package main

import (
	"github.com/leat-go/leat/internal/proof/exhibits/exhibit"
	"github.com/leat-go/leat/internal/proof/exhibits/scenarios"
)

func main() { exhibit.Main(scenarios.All()...) }
