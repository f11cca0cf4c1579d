"""A server on loopback, or on a UNIX socket, with a thread for each connection: what the servers of these tests have in
common. Who derives from it says in serve(connection) what is said on one."""
import socket
import threading

from .doors import through


class Listener:
    def __init__(self, address, port):
        self.address, self.port = address, port
        self.connections = []
        if port is None:  # the path of a UNIX socket
            self.socket = socket.socket(socket.AF_UNIX)
            through(address, self.socket.bind)
        else:
            self.socket = socket.socket()
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.socket.bind((address, port))
        self.socket.listen(64)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def drop_connections(self):
        for connection in self.connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        self.connections.clear()

    def stop(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)  # else accept() takes one more
        except OSError:
            pass
        self.socket.close()
        self.drop_connections()
