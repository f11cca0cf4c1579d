"""What the system tests stand on: a whole MTA on loopback, and the world around it (remote servers, name servers,
clients), all scripted, all recorded. No test sleeps: it waits for what it expects, with a limit."""
