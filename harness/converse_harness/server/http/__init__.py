"""HTTP/1.1 and HTTP/2 as the server and its proxy speak them."""
