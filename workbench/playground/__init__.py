"""The playground: a page that runs cerify in the browser, and the command that builds it."""
