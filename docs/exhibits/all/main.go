// Command all plays all exhibits and prints what was found as a table.
package main

import (
	"github.com/leat-go/leat/docs/exhibits/gallery"
	"github.com/leat-go/leat/docs/exhibits/scenes"
)

func main() { gallery.Main(scenes.All()...) }
