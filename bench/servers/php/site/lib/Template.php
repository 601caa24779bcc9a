<?php
declare(strict_types=1);

/** A page is a template inside the frame; templates escape what they show with $e. */
final class Template
{
    /** @param array<string, mixed> $values */
    public static function page(string $name, string $title, array $values): Response
    {
        $content = self::fill($name, $values);
        return new Response(self::fill('frame', ['title' => $title, 'content' => $content]));
    }

    /** @param array<string, mixed> $values */
    public static function fill(string $name, array $values): string
    {
        $e = static fn (int|string $text): string => htmlspecialchars((string) $text, ENT_QUOTES);
        extract($values);
        ob_start();
        require __DIR__ . "/../templates/$name.php";
        return ob_get_clean();
    }
}
