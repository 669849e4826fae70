// One of Go's ways of serving a folder: served KIND PORT FOLDER.
package main

import (
	"net/http"
	"os"
	"path/filepath"
	"time"
)

func main() {
	kind, port, folder := os.Args[1], os.Args[2], os.Args[3]
	var handler http.Handler = http.FileServer(http.Dir(folder))
	if kind == "content" {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			file, err := os.Open(filepath.Join(folder, filepath.Base(r.URL.Path)))
			if err != nil {
				http.NotFound(w, r)
				return
			}
			defer file.Close()
			http.ServeContent(w, r, "file.bin", time.Time{}, file)
		})
	}
	panic(http.ListenAndServe("127.0.0.1:"+port, handler))
}
