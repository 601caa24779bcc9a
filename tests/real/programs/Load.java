import java.io.*;
import java.net.*;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.*;
import java.util.concurrent.*;
import java.util.zip.*;

/** A server with a thread for each connection, and clients for it, over the loopback interface. */
public class Load {
    static final int CLIENTS = 24;

    /** Answers each request, a length and so many bytes, with the digest of the bytes and the bytes compressed. */
    static void serve(Socket socket) {
        try (socket;
                DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()))) {
            for (int length = in.readInt(); length > 0; length = in.readInt()) {
                byte[] body = in.readNBytes(length);
                // Native memory: a direct buffer, and zlib's own.
                ByteBuffer direct = ByteBuffer.allocateDirect(length);
                direct.put(body).flip();
                Deflater deflater = new Deflater();
                deflater.setInput(direct);
                deflater.finish();
                byte[] packed = new byte[length + 100];
                int size = deflater.deflate(packed);
                deflater.end();
                out.write(MessageDigest.getInstance("MD5").digest(body));
                out.writeInt(size);
                out.write(packed, 0, size);
                out.flush();
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(3);
        }
    }

    static String client(int port, int number, int requests) throws Exception {
        Random random = new Random(number);
        MessageDigest digest = MessageDigest.getInstance("MD5");
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
                DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
                DataOutputStream out = new DataOutputStream(new BufferedOutputStream(socket.getOutputStream()))) {
            for (int request = 0; request < requests; request++) {
                byte[] body = new byte[1 + random.nextInt(request % 20 == 0 ? 200_000 : 5_000)];
                for (int i = 0; i < body.length; i++) body[i] = (byte) (random.nextInt(7) + i / 100);
                out.writeInt(body.length);
                out.write(body);
                out.flush();
                digest.update(in.readNBytes(16));
                Inflater inflater = new Inflater();
                inflater.setInput(in.readNBytes(in.readInt()));
                byte[] plain = new byte[body.length];
                int size = 0;
                while (size < plain.length && !inflater.finished()) {
                    size += inflater.inflate(plain, size, plain.length - size);
                }
                inflater.end();
                if (!Arrays.equals(plain, body)) throw new IllegalStateException("the answer is not what was sent");
            }
            out.writeInt(0);
            out.flush();
        }
        return new java.math.BigInteger(1, digest.digest()).toString(16);
    }

    public static void main(String[] args) throws Exception {
        int requests = Integer.parseInt(args[0]);
        try (ServerSocket server = new ServerSocket(0, 100, InetAddress.getLoopbackAddress())) {
            Thread acceptor = new Thread(() -> {
                try {
                    while (true) {
                        Socket socket = server.accept();
                        new Thread(() -> serve(socket)).start();
                    }
                } catch (IOException closed) {
                    // The main thread closes the server at the end.
                }
            });
            acceptor.start();
            // Short-lived threads on both sides: three generations of clients.
            for (int generation = 0; generation < 3; generation++) {
                List<FutureTask<String>> tasks = new ArrayList<>();
                for (int i = 0; i < CLIENTS; i++) {
                    int number = generation * CLIENTS + i;
                    tasks.add(new FutureTask<>(() -> client(server.getLocalPort(), number, requests)));
                    new Thread(tasks.get(i)).start();
                }
                for (FutureTask<String> task : tasks) System.out.println(task.get());
            }
            server.close();
            acceptor.join();
        }
    }
}
