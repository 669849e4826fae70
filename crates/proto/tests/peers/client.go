// Go's net/http client against the server at os.Args[1].
package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
)

func check(ok bool, what string, values ...any) {
	if !ok {
		fmt.Fprintln(os.Stderr, append([]any{"failed:", what}, values...)...)
		os.Exit(1)
	}
}

func whole(response *http.Response, err error) []byte {
	check(err == nil, "request", err)
	body, err := io.ReadAll(response.Body)
	check(err == nil, "body", err)
	response.Body.Close()
	return body
}

func main() {
	base := os.Args[1]
	for range 3 {
		response, err := http.Get(base + "/chunks/200000")
		check(len(whole(response, err)) == 200000, "chunked body")
	}
	response, err := http.Get(base + "/trailers")
	whole(response, err)
	check(response.Trailer.Get("x-sum") == "42", "trailer", response.Trailer)
	sent := bytes.Repeat([]byte("0123456789"), 50000)
	request, _ := http.NewRequest("POST", base+"/echo", io.MultiReader(bytes.NewReader(sent)))
	request.Trailer = http.Header{"X-Sum": {"9"}}
	request.Header.Set("Expect", "100-continue")
	response, err = http.DefaultClient.Do(request)
	check(bytes.Equal(whole(response, err), sent), "echo")
	check(response.Header.Get("x-trailer") == "9", "request trailer", response.Header)
	response, err = http.Head(base + "/length/7")
	whole(response, err)
	check(response.ContentLength == 7, "length of HEAD", response.ContentLength)
	response, err = http.Get(base + "/204")
	check(len(whole(response, err)) == 0 && response.StatusCode == 204, "204")
}
