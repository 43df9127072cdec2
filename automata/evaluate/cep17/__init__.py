"""The evaluation algorithms of cep17 (section 7, appendix D): for all complex events, and for each strategy."""
