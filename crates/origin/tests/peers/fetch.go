// Fetches a page's worth of images over one HTTP/2 connection and says how much came.
package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func main() {
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true},
		ForceAttemptHTTP2: true,
	}
	client := &http.Client{Transport: transport}
	var group sync.WaitGroup
	var lock sync.Mutex
	total, proto := int64(0), ""
	for index := 0; index < 200; index++ {
		group.Add(1)
		go func(index int) {
			defer group.Done()
			answer, err := client.Get(fmt.Sprintf("%s/image/%d?bytes=20000", os.Args[1], index))
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			count, err := io.Copy(io.Discard, answer.Body)
			if err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			lock.Lock()
			total, proto = total+count, answer.Proto
			lock.Unlock()
		}(index)
	}
	group.Wait()
	fmt.Println(proto, total)
}
