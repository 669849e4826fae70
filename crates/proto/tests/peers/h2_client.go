// Go's net/http client, HTTP/2 with prior knowledge, against the server at os.Args[1].
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
)

func check(ok bool, what string, values ...any) {
	if !ok {
		fmt.Fprintln(os.Stderr, append([]any{"failed:", what}, values...)...)
		os.Exit(1)
	}
}

func whole(response *http.Response, err error) []byte {
	check(err == nil, "request", err)
	check(response.ProtoMajor == 2, "protocol", response.Proto)
	body, err := io.ReadAll(response.Body)
	check(err == nil, "body", err)
	response.Body.Close()
	return body
}

func main() {
	base := os.Args[1]
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	client := &http.Client{Transport: &http.Transport{Protocols: protocols}}
	var all sync.WaitGroup
	for n := range 300 {
		all.Add(1)
		go func() {
			defer all.Done()
			response, err := client.Get(fmt.Sprintf("%s/bytes/%d", base, n*500))
			check(len(whole(response, err)) == n*500, "length", n)
		}()
	}
	all.Wait()
	response, err := client.Get(base + "/trailers")
	whole(response, err)
	check(response.Trailer.Get("x-sum") == "42", "trailer", response.Trailer)
	sent := bytes.Repeat([]byte("0123456789"), 300000)
	request, _ := http.NewRequest("POST", base+"/echo", io.MultiReader(bytes.NewReader(sent)))
	request.Trailer = http.Header{"X-Sum": {"9"}}
	response, err = client.Do(request)
	check(bytes.Equal(whole(response, err), sent), "echo")
	check(response.Trailer.Get("x-sum") == "9", "echoed trailer", response.Trailer)
}
